//! Reports the measurements, as a table for people and as JSON for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case::Target;
use super::series::Series;
use super::task::Sample;

/// A measured case.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) purlin: Side,
    pub(crate) peers: Vec<Peer>,
    pub(crate) targets: Targets,
}

/// The figures of one program.
#[derive(Debug, Serialize)]
pub(crate) struct Side {
    pub(crate) program: String,
    pub(crate) seconds: Series,
    /// The peak memory in bytes.
    pub(crate) peak: Series,
    pub(crate) facts: BTreeMap<&'static str, Series>,
}

/// The figures of a peer, and the comparison with Purlin.
#[derive(Debug, Serialize)]
pub(crate) struct Peer {
    #[serde(flatten)]
    pub(crate) side: Side,
    /// How many times longer the peer took, in each pair of runs.
    pub(crate) ratio: Series,
}

/// The targets of a case.
#[derive(Debug, Serialize)]
pub(crate) struct Targets {
    seconds: Option<f64>,
    peak: Option<f64>,
    fact: Option<(&'static str, f64)>,
    /// Whether the medians reached all targets; `None` if there are no targets.
    reached: Option<bool>,
}

impl Side {
    /// `None` if there are no samples.
    pub(crate) fn of(program: String, samples: &[Sample]) -> Option<Self> {
        let mut facts: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for (name, value) in samples.iter().flat_map(|sample| &sample.facts) {
            facts.entry(*name).or_default().push(*value);
        }
        Some(Self {
            program,
            seconds: Series::of(samples.iter().map(|sample| sample.seconds).collect())?,
            peak: Series::of(samples.iter().map(|sample| sample.peak).collect())?,
            facts: facts.into_iter().filter_map(|(name, all)| Some((name, Series::of(all)?))).collect(),
        })
    }
}

impl Targets {
    pub(crate) fn new(target: Target, side: &Side) -> Self {
        let Target { seconds, peak, fact } = target;
        let reached = [
            seconds.map(|most| side.seconds.median <= most),
            peak.map(|most| side.peak.median <= most),
            fact.map(|(name, most)| side.facts.get(name).is_some_and(|series| series.median <= most)),
        ];
        let reached = reached.into_iter().flatten().reduce(|a, b| a && b);
        Self { seconds, peak, fact, reached }
    }

    fn words(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        words.extend(self.seconds.map(time));
        words.extend(self.peak.map(bytes));
        words.extend(self.fact.map(|(name, most)| value(name, most)));
        if words.is_empty() { "–".into() } else { words.join(", ") }
    }
}

/// A table in Markdown.
pub(crate) fn table(all: &[Measured]) -> String {
    let mut out = String::from(
        "| work | Purlin: time (min to max), peak memory | target | peer: time, peak memory | peer ÷ Purlin |\n\
         |---|---|---|---|---|\n",
    );
    for Measured { title, purlin, peers, targets, .. } in all {
        let verdict = match targets.reached {
            Some(true) => " ✓",
            Some(false) => " ✗",
            None => "",
        };
        let theirs: Vec<String> =
            peers.iter().map(|peer| format!("{}: {}", peer.side.program, side(&peer.side))).collect();
        let ratios: Vec<String> = peers.iter().map(|peer| ratio(&peer.ratio)).collect();
        let or_dash = |texts: Vec<String>| if texts.is_empty() { "–".into() } else { texts.join("; ") };
        out.push_str(&format!(
            "| {title} | {} | {}{verdict} | {} | {} |\n",
            side(purlin),
            targets.words(),
            or_dash(theirs),
            or_dash(ratios),
        ));
    }
    out
}

fn side(side: &Side) -> String {
    let Series { median, min, max, all } = &side.seconds;
    let mut text = format!("**{}**", time(*median));
    match all.len() {
        1 => text.push_str(" (once)"),
        _ => text.push_str(&format!(" ({} to {})", time(*min), time(*max))),
    }
    text.push_str(&format!(", {}", bytes(side.peak.median)));
    for (name, series) in &side.facts {
        text.push_str(&format!("; {}", value(name, series.median)));
    }
    text
}

/// The value of a fact with its unit, which the name determines.
fn value(name: &str, value: f64) -> String {
    match name.split_once(' ') {
        Some(("bytes", what)) => format!("{} {what}", bytes(value)),
        Some(("seconds", what)) => format!("{} {what}", time(value)),
        _ => format!("{name} {value:.2}"),
    }
}

fn ratio(series: &Series) -> String {
    let number = |value: f64| if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") };
    match series.all.len() {
        1 => format!("{} ×", number(series.median)),
        _ => format!("{} × ({} to {})", number(series.median), number(series.min), number(series.max)),
    }
}

/// A time in a suitable unit.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 10.0 => format!("{s:.1} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{s:.3} s"),
        s => format!("{:.1} µs", s * 1e6),
    }
}

/// A number of bytes in a suitable unit.
pub(crate) fn bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    match bytes {
        b if b >= 10.0 * KIB * KIB => format!("{:.0} MiB", b / KIB / KIB),
        b if b >= KIB * KIB => format!("{:.1} MiB", b / KIB / KIB),
        b if b >= 10.0 * KIB => format!("{:.0} KiB", b / KIB),
        b => format!("{b:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seconds: f64, state: f64) -> Sample {
        Sample { seconds, peak: 50.0 * 1024.0 * 1024.0, facts: [("bytes of state", state)].into() }
    }

    #[test]
    fn a_table_shows_the_results() {
        let measured = |target| {
            let purlin = Side::of("Purlin".into(), &[sample(0.1, 4e4), sample(0.3, 4e4), sample(0.2, 4e4)]);
            let purlin = purlin.expect("measured");
            let theirs = Side::of("Other 1".into(), &[sample(20.0, 2e7)]).expect("measured");
            let ratio = Series::of(vec![200.0]).expect("measured");
            Measured {
                name: "apply-10".into(),
                title: "apply, 10 ind".into(),
                targets: Targets::new(target, &purlin),
                purlin,
                peers: vec![Peer { side: theirs, ratio }],
            }
        };
        let good = Target { seconds: Some(0.2), fact: Some(("bytes of state", 5e4)), peak: None };
        let bad = Target { peak: Some(1024.0), ..good };
        let table = table(&[measured(good), measured(bad), measured(Target::default())]);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines[0],
            "| apply, 10 ind | **0.200 s** (0.100 s to 0.300 s), 50 MiB; 39 KiB of state \
             | 0.200 s, 49 KiB of state ✓ | Other 1: **20.0 s** (once), 50 MiB; 19 MiB of state | 200 × |"
        );
        assert!(lines[1].contains(" ✗ "));
        assert!(lines[2].contains("| – |"));
    }

    #[test]
    fn times_and_bytes_have_fitting_units() {
        assert_eq!(
            [0.000_012_3, 0.0204, 1.234, 211.0].map(time),
            ["12.3 µs", "0.020 s", "1.23 s", "211.0 s"]
        );
        assert_eq!([900.0, 20_480.0, 2e6, 1e9].map(bytes), ["900 bytes", "20 KiB", "1.9 MiB", "954 MiB"]);
    }
}
