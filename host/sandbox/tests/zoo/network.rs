//! Forbidden requests and connections, and servers that are as bad as their guests.

use std::time::Duration;

use purlin_model::grants::{Endpoint, HostPattern, HttpGrant};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::servers::{Server, head, http, serving};
use crate::harness::{Attack, attack, by_hand, quietly};

/// A server on its own threads, so that a driver that blocks the other threads does not block it.
fn serve<F, Fut>(behave: F) -> (Server, tokio::runtime::Runtime)
where
    F: Fn(tokio::net::TcpStream) -> Fut + Send + Sync + Clone + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    quietly(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let server = runtime.block_on(serving(move |mut stream, received| {
            let behave = behave.clone();
            async move {
                let text = head(&mut stream).await;
                received.lock().expect("ours").push(text);
                behave(stream).await;
            }
        }));
        (server, runtime)
    })
}

fn answering(answer: Vec<u8>) -> (Server, tokio::runtime::Runtime) {
    serve(move |mut stream| {
        let answer = answer.clone();
        async move {
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        }
    })
}

fn granted(attack: Attack, server: &Server) -> Attack {
    let at = format!("127.0.0.1:{}", server.port());
    let grant = HttpGrant::parse(&format!("http://{at}/*")).expect("a grant");
    attack.with("authority", at).set(|setup| setup.grants.http = vec![grant])
}

fn request(server: &Server) -> Attack {
    granted(attack("request"), server)
}

#[test]
fn requests_cannot_be_smuggled() {
    let (server, _runtime) = answering(http("200 OK", "", "hello"));
    let at = format!("127.0.0.1:{}", server.port());
    request(&server).answers(r#""text":"hello""#);
    let before = server.received().len();
    for headers in [
        "Host: evil.example",
        "host: evil.example",
        "Transfer-Encoding: chunked",
        "Content-Length: 5\r\nx: y",
        "x: a\r\nHost: evil.example",
        "x: a\nHost: evil.example",
        "x: a\0",
        "x\r\n: a",
        "Connection: close, x",
        "Upgrade: h2c",
        "Proxy-Authorization: x",
        "Keep-Alive: 1",
        "HTTP2-Settings: x",
        "TE: trailers",
    ] {
        let (name, _) = headers.split_once(": ").expect("a header");
        let outcome = request(&server).with("headers", json!([headers]));
        // The host controls headers of the connection; an invalid header is dropped.
        if name == "TE" || name == "Keep-Alive" { outcome.harmless() } else { outcome.fails("HeaderError") }
    }
    for (name, wrong) in [
        ("authority", format!("u:p@{at}")),
        ("authority", format!("evil.example@{at}")),
        ("authority", format!("{at}#evil.example")),
        ("authority", format!("{at}/x")),
        ("authority", format!("{at}\r\nHost: evil.example")),
        ("authority", "127.0.0.1:0".into()),
        ("authority", "127.0.0.1:99999".into()),
        ("authority", "127.0.0.1:".into()),
        ("authority", String::new()),
        ("authority", format!("{at}@evil.example")),
        ("authority", "127.0.0.1".into()),
        ("path", "http://evil.example/".into()),
        ("path", "/a b".into()),
        ("path", "/ HTTP/1.1\r\nHost: evil.example\r\n\r\nGET /".into()),
        ("path", "/\u{0}".into()),
        ("method", "GET /evil HTTP/1.1\r\nx:".into()),
        ("method", "CONNECT".into()),
        ("method", "G T".into()),
        ("scheme", "https".into()),
        ("scheme", "file".into()),
        ("scheme", "unix".into()),
    ] {
        request(&server).with(name, wrong).fails("");
    }
    let all = server.received();
    let others: Vec<_> = all[before..].iter().filter(|text| text.to_lowercase().contains("evil")).collect();
    assert!(others.is_empty(), "{others:#?}");
    // A length that differs from that of the body.
    for (length, body) in [("3", "hello"), ("500", "hello")] {
        let header = json!([format!("Content-Length: {length}")]);
        request(&server)
            .with("method", "POST")
            .with("headers", header)
            .with("body", body)
            .briefly()
            .harmless();
    }
    request(&server)
        .with("method", "POST")
        .with("headers", json!(["Content-Length: 5", "Content-Length: 6"]))
        .with("body", "hello")
        .briefly()
        .fails("");
    // A connection that is closed before its first byte leaves an empty text.
    let ours = |text: &String| text.is_empty() || text.starts_with("GET ") || text.starts_with("POST ");
    assert!(server.received().iter().all(ours), "{:?}", server.received());
}

#[test]
fn no_spelling_reaches_places_inside() {
    let (server, _runtime) = answering(http("200 OK", "", "inside"));
    let port = server.port();
    let any = HttpGrant::parse("http://*:*/*").expect("a grant");
    for host in [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "100.100.100.200",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "127.0.0.1.",
        "metadata",
        "①②⑦.0.0.1",
        "127。0。0。1",
    ] {
        attack("request")
            .with("authority", format!("{host}:{port}"))
            .set(|setup| setup.grants.http = vec![any.clone()])
            .briefly()
            .fails("");
    }
    assert!(server.received().is_empty(), "{:?}", server.received());
}

#[test]
fn servers_that_trickle_are_cut_off() {
    let (body, _one) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await;
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let (headers, _two) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await;
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let (silent, _three) = serve(|stream| async move {
        let _held = stream;
        tokio::time::sleep(Duration::from_secs(3)).await;
    });
    for server in [&body, &headers, &silent] {
        request(server).briefly().fails("was stopped after 400ms, its time limit");
    }
    let (deaf, _four) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await;
        tokio::time::sleep(Duration::from_secs(3)).await;
    });
    granted(attack("request-without-end"), &deaf).with("method", "POST").briefly().harmless();
    granted(attack("request-with-endless-body"), &silent).with("method", "POST").briefly().harmless();
    granted(attack("requests-unread"), &body).briefly().harmless();
}

#[test]
fn answers_without_a_reader_are_limited() {
    // Most of such an answer is its head, which comes in one piece.
    let fields = |bytes: usize| format!("x: {}\r\n", "y".repeat(bytes)).repeat(50);
    for (bytes, held) in [(1_000, r#"{"held":900,"last":""}"#), (8_000, r#"{"held":0,"last":"ErrorCode::"#)] {
        let (server, _runtime) = answering(http("200 OK", &fields(bytes), ""));
        granted(attack("answers-held"), &server)
            .set(|setup| setup.limits.time = Some(Duration::from_secs(300)))
            .answers(held);
    }
}

#[test]
fn paths_that_take_long_to_read_are_refused() {
    let (server, _runtime) = answering(http("200 OK", "", "hello"));
    let grant = HttpGrant::parse(&format!("http://127.0.0.1:{}/a/*", server.port())).expect("a grant");
    for part in ["%25".to_owned() + &"25".repeat(32_000), "%2e%2e%2f".repeat(7_000), "%".repeat(32_000)] {
        granted(attack("requests-with-long-paths"), &server)
            .set(|setup| setup.grants.http = vec![grant.clone()])
            .set(|setup| setup.limits.time = Some(Duration::from_secs(300)))
            .with("path", format!("/a/{part}"))
            .answers(r#"{"refused":900}"#);
    }
}

#[test]
fn heads_without_end_are_cut_off() {
    let (many, _one) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream.write_all(&b"x: y\r\n".repeat(1_000)).await.is_ok() {}
    });
    let (long, _two) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await;
        while stream.write_all(&[b'x'; 60_000]).await.is_ok() {}
    });
    let (status, _three) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 ").await;
        while stream.write_all(&[b'x'; 60_000]).await.is_ok() {}
    });
    let (informative, _four) = serve(|mut stream| async move {
        while stream.write_all(&b"HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n".repeat(500)).await.is_ok() {}
    });
    let (chunks, _five) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        while stream.write_all(&[b'0'; 60_000]).await.is_ok() {}
    });
    let (extensions, _six) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        while stream.write_all(&b"1;xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\nx\r\n".repeat(1_000)).await.is_ok() {}
    });
    for server in [&many, &long, &status, &informative, &chunks] {
        request(server).briefly().fails("");
    }
    request(&extensions).briefly().harmless();
}

#[test]
fn answers_without_end_are_cut_off() {
    let (endless, _one) = serve(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b'x'; 60_000]).await.is_ok() {}
    });
    request(&endless).set(|setup| setup.limits.response = Some(1 << 20)).answers("body size exceeds limit");
    let squeezed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03squeezed".to_vec();
    let mut answer =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", squeezed.len())
            .into_bytes();
    answer.extend_from_slice(&squeezed);
    let (server, _two) = answering(answer);
    // The host does not decompress: the bytes are the guest's concern.
    request(&server).answers(format!(r#""bytes":{}"#, squeezed.len()));
    for broken in [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
        "",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nx: \x1b[2J\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 \x1b[2J\r\ncontent-length: 0\r\n\r\n",
    ] {
        let (server, _runtime) = answering(broken.into());
        request(&server).briefly().harmless();
    }
}

#[test]
fn redirects_and_names_lead_nowhere() {
    let (metadata, _one) = answering(http("200 OK", "", "keys"));
    let inside = format!("location: http://127.0.0.1:{}/\r\n", metadata.port());
    let (server, _two) = answering(http("302 Found", &inside, ""));
    request(&server).answers(r#""status":302"#);
    assert!(metadata.received().is_empty());
    let dns = |attack: Attack| {
        attack.set(|setup| setup.grants.dns = vec![HostPattern::parse("*").expect("a pattern")])
    };
    for name in ["localhost", "LOCALHOST", "localhost.", "ip6-localhost"] {
        dns(attack("look-up").with("name", name)).fails("ErrorCode::");
    }
    for name in
        ["", ".", "a b", "a\r\nb", "\u{1b}[2J", "xn--", "-", "*", &"a.".repeat(1_000), "127.1", "0x7f.1"]
    {
        dns(attack("look-up").with("name", name)).briefly().harmless();
    }
    attack("look-up").with("name", "\u{1b}[2J.example").fails("ErrorCode::");
    dns(attack("look-ups").with("name", "zoo.invalid")).briefly().harmless();
}

#[test]
fn sockets_without_a_grant_are_refused() {
    let (server, _runtime) = serve(|mut stream| async move {
        let _ = stream.read(&mut [0; 10]).await;
    });
    let port = server.port();
    attack("connect").with("port", port).logs("is not granted").fails("ErrorCode::access-denied");
    let any = vec![Endpoint::parse("*:*").expect("an endpoint")];
    let with_any = |attack: Attack| attack.set(|setup| setup.grants.tcp = any.clone());
    with_any(attack("connect").with("port", port)).fails("ErrorCode::access-denied");
    with_any(attack("listen")).fails("ErrorCode::");
    with_any(attack("listen").with("port", 8_099)).fails("ErrorCode::");
    assert!(server.received().is_empty());
    by_hand("honest").answers("id {}");
}
