//! Shows the log of drivers and the host as lines on standard error, between the progress bars.

use std::fmt::{self, Write as _};

use anstyle::Style;
use indicatif::MultiProgress;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::{EnvFilter, Registry};

use crate::style::{DIM, ERROR, STRONG, WARNING, paint};
use crate::text;

/// Starts to show log events. `PURLIN_LOG`, a `tracing` filter, selects them; otherwise the flags
/// do.
pub(crate) fn start(verbose: u8, quiet: bool, bars: MultiProgress) {
    let default = match (quiet, verbose) {
        (true, _) => "error",
        (_, 0) => "error,purlin=warn",
        (_, 1) => "warn,purlin=info",
        (_, 2) => "info,purlin=debug",
        _ => "debug,purlin=trace",
    };
    let filter = std::env::var("PURLIN_LOG").ok().and_then(|filter| EnvFilter::try_new(filter).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(default));
    let subscriber = Registry::default().with(filter).with(Lines { bars });
    // This fails only if a subscriber is already set, which never happens.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct Lines {
    bars: MultiProgress,
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let (style, word): (Style, &str) = match *event.metadata().level() {
            Level::ERROR => (ERROR, "error"),
            Level::WARN => (WARNING, "warning"),
            Level::INFO => (STRONG, "info"),
            Level::DEBUG => (DIM, "debug"),
            Level::TRACE => (DIM, "trace"),
        };
        // Traces of other crates contain the traffic of drivers, including secrets.
        if *event.metadata().level() == Level::TRACE && !event.metadata().target().starts_with("purlin") {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut line = format!("{}: ", paint(style, word));
        if let Some(resource) = &fields.resource {
            let _ = write!(line, "{}: ", text::line(resource));
        }
        // Traces of Go are indented with tabs.
        line.push_str(&text::line(&fields.message.replace('\t', "    ")));
        if !fields.others.is_empty() {
            let _ = write!(line, " {}", paint(DIM, text::line(fields.others.trim_end())));
        }
        line.push('\n');
        self.bars.suspend(|| {
            use std::io::Write as _;
            let _ = anstream::AutoStream::auto(std::io::stderr().lock()).write_all(line.as_bytes());
        });
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    resource: Option<String>,
    others: String,
}

impl Fields {
    fn put(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.message = value,
            "resource" => self.resource = Some(value),
            // The resource already identifies the line.
            "driver" => {}
            name => {
                let _ = write!(self.others, "{name}={value} ");
            }
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }
}
