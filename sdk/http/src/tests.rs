//! Tests against a real server on loopback, which gives the answers of each test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use purlin_sdk::{Call, Failure, testing};

use crate::{Client, Error, Limits, Parts, Request, Response, query, segment};

/// A server that gives these answers in turn, and returns the requests that it got. An empty answer
/// ends the connection without one; after one that begins with `SLOW`, the connection does not end.
fn server(answers: Vec<&'static str>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((stream, _)) = listener.accept() else { return };
            let mut reader = BufReader::new(&stream);
            let mut request = String::new();
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                request.push_str(&line);
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            request.push_str(&String::from_utf8_lossy(&body));
            let _ = sender.send(request);
            let mut writer = &stream;
            match answer.strip_prefix("SLOW ") {
                Some(answer) => {
                    let _ = writer.write_all(answer.as_bytes());
                    std::thread::sleep(Duration::from_secs(600));
                }
                None => {
                    let _ = writer.write_all(answer.as_bytes());
                }
            }
        }
    });
    (url, receiver)
}

fn call(left: Duration) -> Call {
    let end = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock") + left;
    Call { deadline: end.as_millis() as u64, ..Call::default() }
}

fn client() -> Client {
    Client::new(&call(Duration::from_secs(600))).reason("to test")
}

#[test]
fn a_request_arrives_as_it_was_built() {
    let (url, requests) =
        server(vec!["HTTP/1.1 201 Created\r\nContent-Length: 8\r\nX-A: b\r\n\r\n{\"a\": 1}"]);
    let request = Request::post(format!("{url}/a/{}", segment("b/../c d")))
        .query("q", "1&2")
        .basic("user", "pass")
        .json(&serde_json::json!({"b": 2}))
        .expect("serialises");
    let answer = client().header("x-key", "v").header("authorization", "no").send(request).expect("answered");
    assert_eq!((answer.status, answer.header("x-a")), (201, Some("b")));
    assert_eq!(answer.json::<serde_json::Value>().expect("JSON")["a"], 1);
    let received = requests.recv().expect("a request");
    assert!(received.starts_with("POST /a/b%2F..%2Fc%20d?q=1%262 HTTP/1.1\r\n"), "{received}");
    assert!(received.contains("authorization: Basic dXNlcjpwYXNz\r\n") && received.contains("x-key: v\r\n"));
    assert!(!received.contains("authorization: no"), "the headers of the request itself count");
    assert!(received.contains("content-length: 7\r\n") && received.ends_with("\r\n{\"b\":2}"), "{received}");
}

#[test]
fn bodies_come_in_pieces_and_stay_within_the_limit() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
    let (url, _requests) = server(vec![chunked, "HTTP/1.1 200 OK\r\n\r\nto the end", chunked]);
    assert_eq!(client().send(Request::get(&url)).expect("answered").text(), "abcde");
    assert_eq!(client().send(Request::get(&url)).expect("answered").text(), "to the end");
    let error = client().largest(4).send(Request::get(&url)).err();
    assert_eq!(error, Some(Error::TooLarge { target: format!("GET {url}"), largest: 4, effects: false }));
}

#[test]
fn a_lost_answer_is_known_as_such() {
    let (url, _requests) = server(vec!["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", ""]);
    let error = client().send(Request::post(&url)).err().expect("lost");
    assert!(error.is_lost());
    assert!(matches!(Failure::from(error), Failure::Undecided(_)));
    assert!(client().send(Request::post(&url)).err().expect("cut off").is_lost());
    // Sending it again is harmless, but that does not mean that it did nothing.
    let failure = Failure::from(client().send(Request::post(&url).repeatable()).err().expect("lost"));
    assert!(matches!(failure, Failure::Undecided(_)), "{failure}");
    let (url, _requests) = server(vec!["", "HTTP/1.1 200 OK\r\n\r\nfar too long"]);
    let failure = Failure::from(client().send(Request::get(&url)).err().expect("lost"));
    assert!(matches!(failure, Failure::RetryAfter { .. }), "{failure}");
    let failure = Failure::from(client().largest(4).send(Request::delete(&url)).err().expect("too large"));
    assert!(matches!(failure, Failure::Undecided(_)), "{failure}");
    // No server listens on this port.
    let error = client().send(Request::post("http://127.0.0.1:1")).err().expect("refused");
    assert!(!error.is_lost(), "nothing was sent");
    assert!(matches!(Failure::from(error), Failure::RetryAfter { .. }));
}

#[test]
fn the_deadline_of_the_call_holds() {
    let (sender, times) = channel();
    let transport = move |_: &Request, limits: &Limits| -> Result<Response, Error> {
        sender.send(limits.time).expect("the test reads it");
        Ok(Response::new(200, vec![], ""))
    };
    let client = Client::new(&call(Duration::from_secs(200))).with_transport(transport);
    client.send(Request::get("https://a.example/")).expect("answered");
    let time = times.recv().expect("a time");
    // There is time left to report an error: half a second, or a fifth of a short call.
    assert!((100_000..=199_500).contains(&time.as_millis()), "{time:?}");
    let short = Client::new(&call(Duration::from_millis(900)));
    assert!(short.remaining() <= Duration::from_millis(720), "{:?}", short.remaining());
    assert!(matches!(short.pause(Duration::from_secs(5)), Err(Failure::RetryAfter { .. })));
    testing::cancel(true);
    assert!(client.pause(Duration::from_secs(5)).is_err());
    testing::cancel(false);
}

#[test]
fn an_answer_that_ends_half_way_is_lost_at_the_limit() {
    let (url, _requests) = server(vec!["SLOW HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"]);
    let (request, limits) = (Request::get(url), Limits { time: Duration::from_millis(300), largest: 3 });
    let exchange = |_| crate::native::exchange(&request, &limits).err().expect("too slow");
    // On a busy machine, the connection alone may take that long; then nothing was sent.
    let error = (0..100).map(exchange).find(Error::is_lost).expect("it connects in time");
    assert!(error.to_string().contains("no answer within"), "{error}");
}

#[test]
fn patience_repeats_repeatable_requests() {
    const BUSY: &str = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
    const DOWN: &str = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let (url, requests) = server(vec![BUSY, DOWN, "", OK, DOWN, OK]);
    assert_eq!(client().patience(4).send(Request::get(&url)).expect("answered").status, 200);
    assert_eq!(requests.try_iter().count(), 4);
    let answer = client().patience(4).send(Request::post(&url)).expect("answered");
    assert!(answer.status == 502 && answer.is_undecided(), "a POST is not sent twice");
}

#[test]
fn a_status_determines_the_failure() {
    let failure = |status: u16, method: &str, headers: &[(&str, &str)], body: &'static str| {
        let headers: Vec<_> = headers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let transport = move |_: &Request, _: &Limits| Ok(Response::new(status, headers.clone(), body));
        let client = client().with_transport(transport);
        let answer = client.send(Request::new(method, "https://a.example/x?token=s")).expect("answered");
        answer.success().err().expect("no success")
    };
    assert!(matches!(failure(404, "GET", &[], ""), Failure::NotFound(_)));
    assert!(matches!(failure(409, "POST", &[], ""), Failure::Conflict(_)));
    let patient = failure(429, "POST", &[("retry-after", "7")], "");
    assert!(matches!(patient, Failure::RetryAfter { after, .. } if after.as_secs() == 7));
    let past = failure(503, "POST", &[("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT")], "");
    assert!(matches!(past, Failure::RetryAfter { after, .. } if after.is_zero()));
    for status in [500, 502, 503, 504] {
        assert!(matches!(failure(status, "POST", &[], ""), Failure::Undecided(_)), "{status}");
        assert!(matches!(failure(status, "PUT", &[], ""), Failure::Undecided(_)), "{status}");
    }
    assert!(matches!(failure(500, "GET", &[], ""), Failure::Failed(_)));
    assert!(matches!(failure(503, "GET", &[], ""), Failure::RetryAfter { .. }));
    let text = failure(400, "POST", &[], "{\"error\": {\"message\": \"no\\n  such thing\"}}").to_string();
    assert_eq!(text, "POST https://a.example/x: status 400: no such thing");
}

#[test]
fn a_failure_has_the_details_of_the_answer() {
    let details = |status: u16, headers: &[(&str, &str)], body: &'static str| {
        let headers: Vec<_> = headers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let transport = move |_: &Request, _: &Limits| Ok(Response::new(status, headers.clone(), body));
        let answer = client().with_transport(transport).send(Request::post("https://a.example/x"));
        let failure = answer
            .expect("answered")
            .success()
            .and_then(|answer| answer.json::<u8>())
            .expect_err("a failure");
        failure.problem().expect("a problem").details.clone()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(details(503, &[], ""), [pair("status", "503")]);
    assert_eq!(
        details(409, &[("X-Request-Id", "r-1")], ""),
        [pair("status", "409"), pair("request-id", "r-1")]
    );
    let of_aws = details(201, &[("x-amzn-RequestId", "r-2")], "<html>");
    assert_eq!(of_aws, [pair("status", "201"), pair("request-id", "r-2")]);
}

#[test]
fn an_answer_that_cannot_be_read_does_not_undo_an_effect() {
    let failure = |status: u16, method: &str| {
        let transport = move |_: &Request, _: &Limits| Ok(Response::new(status, Vec::new(), "<html>"));
        let answer = client().with_transport(transport).send(Request::new(method, "https://a.example/x"));
        answer.expect("answered").json::<purlin_sdk::Json>().expect_err("no JSON")
    };
    assert!(matches!(failure(201, "POST"), Failure::Undecided(_)));
    assert!(matches!(failure(200, "GET"), Failure::Failed(_)));
    assert!(matches!(failure(400, "POST"), Failure::Failed(_)));
}

#[test]
fn denials_are_reported_with_a_reason_and_without_the_query() {
    let refuse = |request: &Request, _: &Limits| -> Result<Response, Error> {
        Err(Error::Denied { target: request.target(), message: String::new() })
    };
    let error = client().with_transport(refuse).send(Request::put("https://a.example/b?secret=1"));
    let failure = Failure::from(error.err().expect("denied")).to_string();
    assert_eq!(failure, "denied: http PUT https://a.example/b: to test");
}

#[test]
fn nothing_is_smuggled_in() {
    let sent = |request: Request| {
        let send =
            |_: &Request, _: &Limits| -> Result<Response, Error> { Ok(Response::new(200, vec![], "")) };
        client().with_transport(send).send(request)
    };
    assert!(sent(Request::get("https://a.example/")).is_ok());
    for url in [
        "a.example",
        "ftp://a.example",
        "http://",
        "http://u:p@a.example/",
        "http://a.example/#x",
        "http://a.example/a b",
        "http://a.example/\r\nx: y",
        "http://a.exämple/",
    ] {
        assert!(matches!(sent(Request::get(url)), Err(Error::Unusable { .. })), "{url}");
    }
    for (name, value) in [("a b", "c"), ("", "c"), ("a", "b\r\nc: d"), ("a:", "b"), ("a", "b\0")] {
        let request = Request::get("http://a.example").header(name, value);
        assert!(matches!(sent(request), Err(Error::Unusable { .. })), "{name}: {value:?}");
    }
    assert!(matches!(sent(Request::new("GET / HTTP/1.1\r\n", "http://a")), Err(Error::Unusable { .. })));
    assert_eq!((segment(".."), segment("a%2f.")), ("%2E%2E".to_owned(), "a%252f.".to_owned()));
    assert_eq!(query("ä=&"), "%C3%A4%3D%26");
}

#[test]
fn a_url_has_parts() {
    let parts = Parts::of("HTTPS://[::1]:8443?a=b").expect("a URL");
    assert_eq!((parts.secure, parts.authority, parts.path.as_str()), (true, "[::1]:8443", "/?a=b"));
    assert_eq!(parts.host(), "::1");
    assert_eq!(Parts::of("http://a.example:80/x").expect("a URL").host(), "a.example");
}
