//! Forbidden requests, and untrustworthy servers.

use super::{Attack, failed, state};
use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use serde_json::{Value, json};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme,
};
use wasip2::io::streams::StreamError;

pub(super) fn perform(attack: &Attack, name: &str, _: &Call) -> Option<Result<State, Failure>> {
    let result = match name {
        "request" => request(attack),
        // It waits for the answer; the request never ends.
        "request-without-end" => begin(attack).and_then(|(going, body)| {
            let answer = wait(&going)?;
            drop(body);
            Ok(json!({"status": answer.status()}))
        }),
        "request-with-endless-body" => begin(attack).and_then(|(_going, body)| {
            let stream = body.write().map_err(|()| "stream")?;
            let piece = vec![b'x'; 4096];
            loop {
                stream.blocking_write_and_flush(&piece).map_err(|error| format!("{error:?}"))?;
            }
        }),
        // As many as possible, without reading the answers.
        "requests-unread" => {
            let mut held = Vec::new();
            let mut last = String::new();
            for _ in 0..attack.number("count", 64) {
                match begin(attack) {
                    Ok((going, body)) => {
                        let _ = OutgoingBody::finish(body, None);
                        held.push(going);
                    }
                    Err(error) => {
                        last = error;
                        break;
                    }
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
            Ok(json!({"held": held.len(), "last": last}))
        }
        // Answers that have arrived, and that it does not read.
        "answers-held" => {
            let mut held = Vec::new();
            let mut last = String::new();
            for _ in 0..attack.number("count", 900) {
                let answer = begin(attack).and_then(|(going, body)| {
                    let _ = OutgoingBody::finish(body, None);
                    wait(&going)
                });
                match answer {
                    Ok(answer) => held.push(answer),
                    Err(error) => {
                        last = error;
                        break;
                    }
                }
            }
            Ok(json!({"held": held.len(), "last": last}))
        }
        // Paths that take long to read.
        "requests-with-long-paths" => {
            let mut refused = 0;
            for _ in 0..attack.number("count", 900) {
                refused += usize::from(begin(attack).and_then(|(going, _)| wait(&going)).is_err());
            }
            Ok(json!({"refused": refused}))
        }
        _ => return None,
    };
    Some(result.map(|found| state(&found)).map_err(failed))
}

fn begin(attack: &Attack) -> Result<(FutureIncomingResponse, OutgoingBody), String> {
    let headers = Fields::new();
    for header in attack.texts("headers") {
        let (name, value) = header.split_once(": ").ok_or("a header")?;
        headers.append(name, value.as_bytes()).map_err(|error| format!("{name}: {error:?}"))?;
    }
    let request = OutgoingRequest::new(headers);
    let method = match attack.text("method").as_str() {
        "" => Method::Get,
        "POST" => Method::Post,
        other => Method::Other(other.into()),
    };
    request.set_method(&method).map_err(|()| "method")?;
    let scheme = match attack.text("scheme").as_str() {
        "" => Scheme::Http,
        other => Scheme::Other(other.into()),
    };
    request.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
    request.set_authority(Some(&attack.text("authority"))).map_err(|()| "authority")?;
    request.set_path_with_query(Some(&attack.text_or("path", "/"))).map_err(|()| "path")?;
    let body = request.body().map_err(|()| "body")?;
    let going = handle(request, None).map_err(|error| format!("{error:?}"))?;
    Ok((going, body))
}

fn wait(going: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    going.subscribe().block();
    let answer = going.get().ok_or("no answer")?.map_err(|()| "twice")?;
    answer.map_err(|error| format!("{error:?}"))
}

fn request(attack: &Attack) -> Result<Value, String> {
    let (going, body) = begin(attack)?;
    let text = attack.text("body");
    if !text.is_empty() {
        let stream = body.write().map_err(|()| "stream")?;
        stream.blocking_write_and_flush(text.as_bytes()).map_err(|error| format!("{error:?}"))?;
    }
    OutgoingBody::finish(body, None).map_err(|error| format!("{error:?}"))?;
    let answer = wait(&going)?;
    let (status, headers) = (answer.status(), answer.headers().entries().len());
    let body = answer.consume().map_err(|()| "consume")?;
    let stream = body.stream().map_err(|()| "stream")?;
    let mut bytes = Vec::new();
    let ended = loop {
        match stream.blocking_read(64 << 10) {
            Ok(more) => bytes.extend_from_slice(&more),
            Err(StreamError::Closed) => break None,
            Err(StreamError::LastOperationFailed(error)) => break Some(error.to_debug_string()),
        }
    };
    let text = String::from_utf8_lossy(bytes.get(..200).unwrap_or(&bytes)).into_owned();
    Ok(json!({"status": status, "headers": headers, "bytes": bytes.len(), "text": text, "ended": ended}))
}
