//! Probes of a container.

use serde_json::{Value, json};

use super::{Port, pattern};
use crate::declare::{Form, Read, form};
use crate::kinds::{AnyText, Choice, Filled, List, Text, Words};
use crate::reader::Reader;
use crate::yaml::Node;

form! {
    /// A probe: `httpGet`, `exec`, or both.
    pub(crate) struct Probe {
        /// An HTTP request that must succeed.
        HTTP_GET: HttpGet = "httpGet", "{port: 8080, path: /}";
        /// A command that must succeed.
        EXEC: Exec = "exec", "{command: [PROGRAM]}";
    }

    fn constrain(schema: &mut Value) {
        schema["anyOf"] = json!([{"required": ["httpGet"]}, {"required": ["exec"]}]);
    }
}

form! {
    /// An HTTP request that must succeed.
    pub(crate) struct HttpGet {
        /// Host of the request.
        HOST: Filled = "host";
        /// Scheme of the request.
        SCHEME: Choice<Scheme> = "scheme" default "HTTP";
        /// Path of the request.
        PATH: AnyText = needed "path", "/";
        /// Port of the request.
        PORT: Port = needed "port", "8080";
        /// Headers of the request.
        HTTP_HEADERS: List<Header> = "httpHeaders", "[{name: NAME, value: VALUE}]";
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Scheme;

impl Words for Scheme {
    const WORDS: &'static [(&'static str, Self)] = &[("HTTP", Self), ("HTTPS", Self)];
}

form! {
    /// A header.
    pub(crate) struct Header {
        /// Its name.
        NAME: Text = needed "name" matching "^[A-Za-z0-9_-]+$", "NAME";
        /// Its value.
        VALUE: Filled = needed "value", "VALUE";
    }
}

form! {
    /// A command that must succeed.
    pub(crate) struct Exec {
        /// Program and arguments.
        COMMAND: List<AnyText> = needed "command", "[PROGRAM]";
    }
}

impl Read for Probe {
    type Value = ();

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<()> {
        let probe = Self::open(reader, node, what)?;
        let (http, exec) = (probe.node(Self::HTTP_GET), probe.node(Self::EXEC));
        if http.is_none() && exec.is_none() {
            let fault = reader
                .about(&node.span, "missing-field", format!("{what} does not specify a probe"))
                .help("add `exec: {command: [PROGRAM]}` or `httpGet: {port: 8080, path: /}`");
            reader.report(fault);
        }
        if let Some(request) = http.and_then(|node| HttpGet::open(reader, node, "`httpGet`")) {
            request.read(reader, HttpGet::PORT);
            request.read(reader, HttpGet::PATH);
            request.read(reader, HttpGet::HOST);
            request.read(reader, HttpGet::SCHEME);
            let headers = request.node(HttpGet::HTTP_HEADERS);
            let headers = headers.and_then(|node| reader.list(node, "`httpHeaders`"));
            headers.unwrap_or_default().iter().for_each(|item| header(reader, item));
        }
        if let Some(exec) = exec.and_then(|node| Exec::open(reader, node, "`exec`")) {
            exec.read(reader, Exec::COMMAND);
        }
        Some(())
    }
}

fn header(reader: &mut Reader<'_>, node: &Node<'_>) {
    let Some(header) = Header::open(reader, node, "a header") else { return };
    if let Some(node) = header.node(Header::NAME)
        && let Some(name) = reader.string(node, "`name`")
        && !pattern::header(name)
    {
        let message = format!("`{name}` is not a header name");
        reader.wrong_value(&node.span, message, "write letters, digits, `_` and `-`");
    }
    header.read(reader, Header::VALUE);
}
