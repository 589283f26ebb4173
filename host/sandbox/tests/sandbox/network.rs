//! A driver reaches over the network what it was granted, and nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use purlin_model::grants::{Endpoint, HostPattern, HttpGrant, IpNet};
use purlin_model::{Grants, Limits};
use purlin_sandbox::{CallError, Driver, DriverSetup};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::common::servers::{Server, answering, head, http, serving};
use crate::common::{DriverLog, component, deed, deed_within, load, sandbox, seconds, setup};

struct Targets<'a> {
    http: &'a [&'a str],
    tcp: &'a [&'a str],
    udp: &'a [&'a str],
    dns: &'a [&'a str],
    addresses: &'a [&'a str],
}

const NONE: Targets<'_> = Targets { http: &[], tcp: &[], udp: &[], dns: &[], addresses: &[] };

fn grants(targets: &Targets<'_>) -> Grants {
    let endpoints = |texts: &[&str]| texts.iter().map(|t| Endpoint::parse(t).expect("an endpoint")).collect();
    Grants {
        http: targets.http.iter().map(|text| HttpGrant::parse(text).expect("a grant")).collect(),
        tcp: endpoints(targets.tcp),
        udp: endpoints(targets.udp),
        dns: targets.dns.iter().map(|text| HostPattern::parse(text).expect("a host")).collect(),
        addresses: targets.addresses.iter().map(|text| network(text)).collect(),
        ..Grants::default()
    }
}

fn network(text: &str) -> IpNet {
    purlin_model::grants::network(text).expect("a network")
}

async fn granted(targets: &Targets<'_>, limits: Limits) -> Driver {
    load(&sandbox(), &DriverSetup { grants: grants(targets), ..setup(limits) }).await
}

/// The driver's report: its answer, or its failure.
async fn report(driver: &Driver, values: Value) -> Result<Value, String> {
    match deed(driver, values).await {
        Ok(state) => Ok(state.outputs.redact()),
        Err(CallError::Failure(failure)) => Err(failure.to_string()),
        Err(other) => panic!("{other}"),
    }
}

fn get(server: &Server, path: &str) -> Value {
    json!({"do": "request", "authority": format!("127.0.0.1:{}", server.port()), "path": path})
}

#[tokio::test]
async fn requests_are_granted_by_method_scheme_host_port_and_path() {
    let log = DriverLog::default();
    let _guard = log.listen();
    let server = answering(http("200 OK", "", "hello")).await;
    let at = format!("http://127.0.0.1:{}/v1/*", server.port());
    let driver = granted(&Targets { http: &[&format!("GET {at}")], ..NONE }, Limits::default()).await;
    let answer = report(&driver, get(&server, "/v1/a?b=c")).await.expect("granted");
    assert_eq!(answer, json!({"status": 200, "bytes": 5, "body": "hello", "ended": null}));
    assert!(server.received()[0].starts_with("GET /v1/a?b=c HTTP/1.1\r\n"), "{:?}", server.received());
    assert!(server.received()[0].contains(&format!("host: 127.0.0.1:{}\r\n", server.port())));

    let with = |name: &str, value: Value| {
        let mut values = get(&server, "/v1/a");
        values[name] = value;
        values
    };
    for denied in [
        get(&server, "/v2/a"),
        get(&server, "/v1/../admin"),
        get(&server, "/v1/%2e%2e/admin"),
        with("method", json!("POST")),
        with("scheme", json!("https")),
        with("authority", json!("127.0.0.2:1")),
        with("authority", json!(format!("localhost:{}", server.port()))),
        with("authority", json!(format!("127.0.0.1:{}", server.port().wrapping_add(1)))),
        with("authority", json!(format!("127.1:{}", server.port()))),
    ] {
        assert_eq!(
            report(&driver, denied.clone()).await,
            Err("ErrorCode::HttpRequestDenied".into()),
            "{denied}"
        );
    }
    for wrong in [
        with("authority", json!(format!("u:p@127.0.0.1:{}", server.port()))),
        with("authority", json!("")),
        with("method", json!("CONNECT")),
        with("headers", json!({"Host": "evil.example"})),
        with("headers", json!({"Transfer-Encoding": "chunked"})),
        with("headers", json!({"Connection": "close"})),
        with("headers", json!({"x": "a\r\nHost: evil.example"})),
        with("path", json!("http://evil.example/v1/")),
        with("path", json!("/v1/a b")),
        with("path", json!("/v1/ HTTP/1.1\r\nHost: evil")),
    ] {
        assert!(report(&driver, wrong.clone()).await.is_err(), "{wrong}");
    }
    assert_eq!(server.received().len(), 1, "nothing else reached it: {:?}", server.received());
    let line = format!(
        "POST http://127.0.0.1:{0}/v1/a is not granted; `drivers.acme/bad.grants.http: \
         [\"POST http://127.0.0.1:{0}/v1/a\"]` in purlin.yaml would allow it",
        server.port()
    );
    assert!(log.lines().iter().any(|text| text.contains(&line)), "{:#?}", log.lines());
}

#[tokio::test]
async fn names_lead_to_public_addresses_only_unless_a_grant_says_so() {
    let log = DriverLog::default();
    let _guard = log.listen();
    let server = answering(http("200 OK", "", "inside")).await;
    let port = server.port();
    let request = json!({"do": "request", "authority": format!("localhost:{port}"), "path": "/"});
    let grant = format!("http://localhost:{port}");
    let closed = granted(&Targets { http: &[&grant, "http://*:*"], ..NONE }, Limits::default()).await;
    assert_eq!(report(&closed, request.clone()).await, Err("ErrorCode::DestinationIpProhibited".into()));
    let lines = log.lines();
    assert!(
        lines
            .iter()
            .any(|line| line.contains("`localhost` resolves to") && line.contains("grants.addresses")),
        "{lines:#?}"
    );
    // An address is the same address in any spelling.
    for spelling in [
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "169.254.169.254",
        "[::ffff:a9fe:a9fe]",
        "2130706433",
        "0x7f.1",
        "127.1",
        "localhost.",
    ] {
        let request = json!({"do": "request", "authority": format!("{spelling}:{port}"), "path": "/"});
        assert!(report(&closed, request).await.is_err(), "{spelling}");
    }
    assert!(server.received().is_empty(), "{:?}", server.received());

    let open = Targets { http: &[&grant], addresses: &["127.0.0.0/8", "::1"], ..NONE };
    let open = granted(&open, Limits::default()).await;
    assert_eq!(report(&open, request).await.expect("granted")["body"], "inside");
}

#[tokio::test]
async fn redirects_are_requests_like_others() {
    let metadata = answering(http("200 OK", "", "the keys of the kingdom")).await;
    let inside = format!("http://127.0.0.1:{}/latest", metadata.port());
    let server = answering(http("302 Found", &format!("location: {inside}\r\n"), "")).await;
    let grant = format!("http://127.0.0.1:{}/*", server.port());
    let driver = granted(&Targets { http: &[&grant], ..NONE }, Limits::default()).await;
    let mut values = get(&server, "/");
    assert_eq!(report(&driver, values.clone()).await.expect("granted")["status"], 302);
    values["follow"] = true.into();
    assert_eq!(report(&driver, values).await, Err("ErrorCode::HttpRequestDenied".into()));
    assert!(metadata.received().is_empty());
}

#[tokio::test]
async fn answers_end_at_their_limit_and_requests_at_theirs() {
    let server = answering(http("200 OK", "", &"x".repeat(300_000))).await;
    let grant = format!("http://127.0.0.1:{}", server.port());
    let targets = Targets { http: &[&grant], ..NONE };
    let limits = Limits { response: Some(200_000), ..Limits::default() };
    let driver = granted(&targets, limits).await;
    let answer = report(&driver, get(&server, "/")).await.expect("it begins");
    assert!(answer["bytes"].as_u64().is_some_and(|bytes| bytes <= 200_000), "{answer}");
    assert!(
        answer["ended"].as_str().is_some_and(|text| text.contains("body size exceeds limit")),
        "{answer}"
    );
    // Each call has its own.
    let roomy = granted(&targets, Limits::default()).await;
    for _ in 0..2 {
        assert_eq!(report(&roomy, get(&server, "/")).await.expect("whole")["bytes"], 300_000);
    }
    let none = granted(&targets, Limits { requests: Some(0), ..Limits::default() }).await;
    assert_eq!(report(&none, get(&server, "/")).await, Err("ErrorCode::ConnectionLimitReached".into()));
}

#[tokio::test]
async fn requests_leave_no_handles_behind() {
    let server = answering(http("200 OK", "", "")).await;
    let grant = format!("http://127.0.0.1:{}", server.port());
    let limits = Limits { requests: Some(2_000), time: Some(seconds(600)), ..Limits::default() };
    let driver = granted(&Targets { http: &[&grant], ..NONE }, limits).await;
    let mut many = get(&server, "/");
    (many["do"], many["count"]) = ("requests".into(), 1_500.into());
    assert_eq!(report(&driver, many).await, Ok(json!({})));
}

#[tokio::test]
async fn slow_and_silent_servers_are_cut_off_in_time() {
    let slow = serving(|mut stream, _| async move {
        head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await;
        while stream.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let silent = serving(|mut stream, _| async move {
        head(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let grants = [&slow, &silent].map(|server| format!("http://127.0.0.1:{}", server.port()));
    let targets = Targets { http: &[&grants[0], &grants[1]], tcp: &["127.0.0.1:*"], ..NONE };
    let driver = granted(&targets, Limits { time: Some(seconds(600)), ..Limits::default() }).await;
    let connect =
        |server: &Server| json!({"do": "connect", "to": server.address.to_string(), "send": "hello"});
    for values in [get(&slow, "/"), get(&silent, "/"), connect(&slow), connect(&silent)] {
        let begun = Instant::now();
        let error = deed_within(Duration::from_millis(400), &driver, values).await.expect_err("it waits");
        assert!(matches!(error, CallError::TimeLimit { .. }), "{error}");
        assert!(begun.elapsed() < seconds(300), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn sockets_reach_what_is_granted() {
    let log = DriverLog::default();
    let _guard = log.listen();
    let server = answering("world").await;
    let port = server.port();
    let connect = |to: &str| json!({"do": "connect", "to": format!("{to}:{port}"), "send": "hello"});
    let by = |grant: String, addresses: &'static [&'static str]| async move {
        granted(&Targets { tcp: &[&grant], addresses, ..NONE }, Limits::default()).await
    };
    let answer = json!({"answer": "world"});
    let denied = Err("permission denied".to_owned());

    let named = by(format!("127.0.0.1:{port}"), &[]).await;
    assert_eq!(report(&named, connect("127.0.0.1")).await, Ok(answer.clone()));
    assert_eq!(report(&named, connect("127.0.0.2")).await, denied);
    assert!(report(&named, connect("localhost")).await.is_err(), "no look-up is granted");
    let other = by(format!("127.0.0.1:{}", port.wrapping_add(1)), &[]).await;
    assert_eq!(report(&other, connect("127.0.0.1")).await, denied);
    let network = by("127.0.0.0/8:*".to_owned(), &[]).await;
    assert_eq!(report(&network, connect("127.0.0.1")).await, Ok(answer.clone()));

    // By name: the addresses of the name, and only after its lookup.
    let by_name = by(format!("localhost:{port}"), &["127.0.0.1"]).await;
    assert_eq!(report(&by_name, connect("localhost")).await, Ok(answer));
    assert_eq!(
        report(&by_name, connect("127.0.0.1")).await,
        denied,
        "nobody looked the name up in this call"
    );
    let private = by(format!("localhost:{port}"), &[]).await;
    assert!(report(&private, connect("localhost")).await.is_err());
    let any = by("*:*".to_owned(), &[]).await;
    assert_eq!(report(&any, connect("127.0.0.1")).await, denied);
    assert_eq!(report(&any, json!({"do": "listen"})).await, denied);
    assert_eq!(server.received(), ["hello"; 3]);
    let line = format!(
        "tcp to 127.0.0.2:{port} is not granted; `drivers.acme/bad.grants.tcp: [\"127.0.0.2:{port}\"]`"
    );
    assert!(log.lines().iter().any(|text| text.contains(&line)), "{:#?}", log.lines());
}

#[tokio::test]
async fn datagrams_reach_what_is_granted() {
    let server = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let to = server.local_addr().expect("an address").to_string();
    let echo = tokio::spawn(async move {
        let mut text = [0; 100];
        while let Ok((length, from)) = server.recv_from(&mut text).await {
            // Somebody else answers first, and is ignored.
            let stranger = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a port");
            let _ = stranger.send_to(b"lies", from).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let _ = server.send_to(&text[..length], from).await;
        }
    });
    let driver = granted(&Targets { udp: &[&to], ..NONE }, Limits::default()).await;
    let send = json!({"do": "send", "to": to, "send": "hello"});
    assert_eq!(report(&driver, send.clone()).await, Ok(json!({"answer": "hello"})));
    let tcp = granted(&Targets { tcp: &[&to], ..NONE }, Limits::default()).await;
    assert_eq!(report(&tcp, send).await, Err("permission denied".to_owned()));
    echo.abort();
}

#[tokio::test]
async fn names_are_looked_up_within_the_grants() {
    let look_up = |name: &str| json!({"do": "look-up", "name": name});
    let driver =
        granted(&Targets { dns: &["localhost"], addresses: &["127.0.0.1"], ..NONE }, Limits::default()).await;
    assert_eq!(report(&driver, look_up("LocalHost")).await, Ok(json!({"addresses": ["127.0.0.1"]})));
    for denied in ["example.invalid", "localhost.evil.example", "xlocalhost"] {
        assert!(report(&driver, look_up(denied)).await.is_err(), "{denied}");
    }
    let private = granted(&Targets { dns: &["*"], ..NONE }, Limits::default()).await;
    assert!(report(&private, look_up("localhost")).await.is_err());
}

#[tokio::test]
async fn sockets_are_counted_before_they_are_made() {
    let server = serving(|stream, _| async move {
        let _held = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let to = server.address.to_string();
    let hold = json!({"do": "hold-sockets", "to": to});
    let driver = granted(&Targets { tcp: &[&to], ..NONE }, Limits::default()).await;
    assert_eq!(report(&driver, hold.clone()).await, Ok(json!({"sockets": 64})));
    let few =
        granted(&Targets { tcp: &[&to], ..NONE }, Limits { requests: Some(10), ..Limits::default() }).await;
    assert_eq!(report(&few, hold).await, Ok(json!({"sockets": 5})), "a socket and a connection each");
}

#[tokio::test]
async fn servers_prove_who_they_are() {
    let authority = rcgen::CertifiedIssuer::self_signed(
        {
            let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).expect("params");
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            params
        },
        rcgen::KeyPair::generate().expect("a key"),
    )
    .expect("an authority");
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("params");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
            )
            .expect("a server");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let serve = |politely: bool| {
        let acceptor = acceptor.clone();
        serving(move |stream, received| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let head = head(&mut stream).await;
                received.lock().expect("ours").push(head);
                let _ = stream.write_all(&http("200 OK", "", "proved")).await;
                let _ = stream.flush().await;
                if politely {
                    let _ = stream.shutdown().await;
                }
            }
        })
    };
    let server = serve(true).await;
    let port = server.port();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("ca.pem"), authority.pem()).expect("written");
    let targets = Targets { http: &["https://*:*"], addresses: &["127.0.0.1", "::1"], ..NONE };
    let request = |host: &str| json!({"do": "request", "scheme": "https", "authority": format!("{host}:{port}"), "path": "/"});

    let unknown = granted(&targets, Limits::default()).await;
    assert_eq!(report(&unknown, request("localhost")).await, Err("ErrorCode::TlsCertificateError".into()));
    assert!(server.received().is_empty());

    let with_ca = |files: &[&str]| DriverSetup {
        grants: Grants { ca: files.iter().map(Into::into).collect(), ..grants(&targets) },
        folder: folder.path().to_owned(),
        ..setup(Limits::default())
    };
    let known = load(&sandbox(), &with_ca(&["ca.pem"])).await;
    assert_eq!(report(&known, request("localhost")).await.expect("trusted")["body"], "proved");
    // It is trusted for its name only.
    assert_eq!(report(&known, request("127.0.0.1")).await, Err("ErrorCode::TlsCertificateError".into()));
    assert_eq!(server.received().len(), 1);
    // A complete answer is valid, however its connection ends.
    let rude = serve(false).await;
    let to_rude = json!({
        "do": "request", "scheme": "https", "authority": format!("localhost:{}", rude.port()), "path": "/",
    });
    for _ in 0..20 {
        assert_eq!(report(&known, to_rude.clone()).await.expect("an answer")["body"], "proved");
    }

    std::fs::write(folder.path().join("not.pem"), "nothing").expect("written");
    for (file, expected) in [("not.pem", "contains no PEM certificate"), ("gone.pem", "cannot be read")] {
        let source = purlin_sandbox::Source::Bytes(component("guests").into());
        let error = sandbox().load(source, &with_ca(&[file])).await.expect_err("refused").to_string();
        assert!(
            error.contains(expected) && error.contains("`drivers.acme/bad.grants.ca` in purlin.yaml"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn all_calls_together_have_a_limit() {
    let limits = Limits { time: Some(seconds(1_200)), total: Some(seconds(600)), ..Limits::default() };
    let driver = granted(&NONE, limits).await;
    // From now on, only sleep takes time, and it does not take any of the machine's.
    tokio::time::pause();
    let sleep = json!({"do": "sleep", "ms": 400_000});
    assert!(deed(&driver, sleep.clone()).await.is_ok());
    let error = deed(&driver, sleep.clone()).await.expect_err("too long").to_string();
    assert_eq!(
        error,
        "the calls of the driver `acme/bad` took 600s together, its limit; \
         `drivers.acme/bad.limits.total` in purlin.yaml raises it"
    );
    let error = deed(&driver, sleep).await.expect_err("used up");
    assert!(matches!(error, CallError::Instantiate { .. }), "{error}");
}
