//! The adversary's requests to servers.

use serde_json::{Value, json};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;

/// One request: `method`, `scheme`, `authority`, `path`, `headers`, `body`; `follow` redirects.
pub(crate) fn request(values: &Value) -> Result<Value, String> {
    let text = |name: &str| values[name].as_str().unwrap_or_default();
    let headers = Fields::new();
    for (name, value) in values["headers"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default().as_bytes();
        headers.append(name, value).map_err(|error| format!("{name}: {error:?}"))?;
    }
    let request = OutgoingRequest::new(headers);
    let method = match text("method") {
        "" | "GET" => Method::Get,
        "POST" => Method::Post,
        "CONNECT" => Method::Connect,
        other => Method::Other(other.into()),
    };
    request.set_method(&method).map_err(|()| "method")?;
    let scheme = match text("scheme") {
        "" | "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.into()),
    };
    request.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
    request.set_authority(Some(text("authority"))).map_err(|()| "authority")?;
    request.set_path_with_query(Some(text("path"))).map_err(|()| "path")?;
    let body = request.body().map_err(|()| "body")?;
    let options = RequestOptions::new();
    if let Some(ms) = values["between_ms"].as_u64() {
        let _ = options.set_between_bytes_timeout(Some(ms * 1_000_000));
    }
    let answer = handle(request, Some(options)).map_err(error_text)?;
    {
        let stream = body.write().map_err(|()| "stream")?;
        for chunk in text("body").as_bytes().chunks(4096) {
            stream.blocking_write_and_flush(chunk).map_err(|error| format!("{error:?}"))?;
        }
    }
    OutgoingBody::finish(body, None).map_err(error_text)?;
    answer.subscribe().block();
    let answer = answer.get().ok_or("no answer")?.map_err(|()| "twice")?.map_err(error_text)?;
    let status = answer.status();
    let location = answer.headers().get("location");
    if let (Some(location), true) = (location.first(), values["follow"] == true) {
        let location = String::from_utf8_lossy(location).into_owned();
        let (scheme, rest) = location.split_once("://").ok_or("location")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        return self::request(&json!({"scheme": scheme, "authority": authority, "path": format!("/{path}")}));
    }
    let body = answer.consume().map_err(|()| "consume")?;
    let mut bytes = 0;
    let mut text = Vec::new();
    let ended = {
        let stream = body.stream().map_err(|()| "stream")?;
        loop {
            match stream.blocking_read(64 << 10) {
                Ok(more) => {
                    bytes += more.len();
                    text.extend_from_slice(&more[..more.len().min(1000 - text.len().min(1000))]);
                }
                Err(StreamError::Closed) => break None,
                Err(StreamError::LastOperationFailed(error)) => break Some(error.to_debug_string()),
            }
        }
    };
    let _ = IncomingBody::finish(body);
    Ok(json!({
        "status": status, "bytes": bytes, "body": String::from_utf8_lossy(&text), "ended": ended,
    }))
}

fn error_text(error: ErrorCode) -> String {
    format!("{error:?}")
}
