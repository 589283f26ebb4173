//! The cases: what is measured, in which size, and what it is to reach (SPEC §12).

use super::shape::Shape;
use super::work::{Act, Work};

/// A case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// As `--only` names it.
    pub(crate) name: String,
    /// In words.
    pub(crate) title: String,
    pub(crate) what: What,
    pub(crate) target: Target,
    /// Whether peers are asked for the same: what takes them hours is not.
    pub(crate) peers: bool,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A work of a program, as a whole process.
    Work(Work),
    /// A graph from documents in memory.
    Graph(Shape, usize),
    /// A driver call, next to bare wasmtime.
    Call,
}

/// What is to be reached; the field is none where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) seconds: Option<f64>,
    /// Bytes of memory.
    pub(crate) peak: Option<f64>,
    /// Another fact, by its name, and how much it may be.
    pub(crate) fact: Option<(&'static str, f64)>,
}

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;

/// A row of the table of cases: `--only` name, words, act, shape, size, target, peers.
type Row = (&'static str, &'static str, Act, Shape, usize, Target, bool);

/// The cases in full, or a tenth of each.
pub(crate) fn cases(quick: bool) -> Vec<Case> {
    let to = |seconds| Target { seconds: Some(seconds), ..Target::default() };
    let within = |seconds, mib: f64| Target { peak: Some(mib * MIB), ..to(seconds) };
    let none = Target::default();
    let layers = Shape::Layers;
    let rows: [Row; 10] = [
        ("validate", "documents on disk to graph", Act::Validate, layers, 100_000, none, false),
        ("plan-new", "plan, nothing there yet", Act::PlanNew, layers, 10_000, within(0.5, 100.0), true),
        ("plan-same", "plan, nothing changed", Act::PlanSame, layers, 10_000, to(0.3), true),
        ("apply", "apply", Act::Apply, layers, 1_000, to(0.15), true),
        ("apply", "apply", Act::Apply, layers, 10_000, within(1.5, 150.0), false),
        ("apply-ind", "apply", Act::Apply, Shape::Independent, 10_000, none, false),
        (
            "apply-chain",
            "apply",
            Act::Apply,
            Shape::Chain,
            1_000,
            Target { fact: Some(("bytes of state", 2.0 * MIB)), ..to(0.5) },
            true,
        ),
        ("destroy", "destroy", Act::Destroy, layers, 1_000, none, true),
        ("destroy", "destroy", Act::Destroy, layers, 10_000, to(1.5), false),
        (
            "start",
            "start of the program to the first driver call",
            Act::Start,
            layers,
            1,
            within(0.02, 30.0),
            true,
        ),
    ];
    let graphs = [(100_000, 1.0), (1_000_000, 12.0)].into_iter().map(|(count, seconds)| {
        let target = Target { fact: Some(("bytes of graph a resource", KIB)), ..to(seconds) };
        graph(Shape::Layers, count).with(target)
    });
    let works = rows.into_iter().map(|(name, words, act, shape, count, target, peers)| {
        Case { peers, ..work(name, words, Work { act, shape, count }) }.with(target)
    });
    let call = Case {
        name: "call".into(),
        title: "a driver call in a fresh instance".into(),
        what: What::Call,
        target: Target { fact: Some(("ratio to bare wasmtime", 1.5)), ..none },
        peers: false,
    };
    let all = graphs.chain(works).chain([call]);
    if !quick {
        return all.collect();
    }
    let mut small: Vec<Case> = all.map(|case| case.resized(|count| count.div_ceil(10))).collect();
    small.dedup_by(|a, b| a.name == b.name);
    small
}

fn graph(shape: Shape, count: usize) -> Case {
    Case {
        name: format!("graph-{count}"),
        title: format!("graph of {} {shape}, from documents in memory", grouped(count)),
        what: What::Graph(shape, count),
        target: Target::default(),
        peers: false,
    }
}

fn work(name: &str, words: &str, work: Work) -> Case {
    let Work { shape, count, .. } = work;
    let (name, title) = match count {
        1 => (name.into(), words.into()),
        _ => (format!("{name}-{count}"), format!("{words}, {} {shape}", grouped(count))),
    };
    Case { name, title, what: What::Work(work), target: Target::default(), peers: true }
}

impl Case {
    fn with(self, target: Target) -> Self {
        Self { target, ..self }
    }

    /// The same case in another size, for which nothing is promised.
    pub(crate) fn resized(self, resize: impl Fn(usize) -> usize) -> Self {
        let base = self.base().to_owned();
        match self.what {
            What::Call => self,
            What::Graph(_, count) | What::Work(Work { count, .. }) if resize(count) == count => self,
            What::Graph(shape, count) => graph(shape, resize(count)),
            What::Work(it) => {
                let words = self.title.split(", ").next().unwrap_or_default();
                let words = match it.act {
                    Act::PlanNew | Act::PlanSame => self.title.rsplit_once(", ").map_or(words, |(words, _)| words),
                    _ => words,
                };
                let count = resize(it.count);
                Self { peers: self.peers, ..work(&base, words, Work { count, ..it }) }
            }
        }
    }

    /// The name without the size.
    pub(crate) fn base(&self) -> &str {
        match self.name.rsplit_once('-') {
            Some((base, size)) if size.bytes().all(|byte| byte.is_ascii_digit()) => base,
            _ => &self.name,
        }
    }

    /// Whether somebody means this case: by its name, with or without the size.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        name == self.name || name == self.base()
    }
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_resize() {
        for quick in [false, true] {
            let cases = cases(quick);
            let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{names:?}");
        }
        let plan = cases(false).into_iter().find(|case| case.is_called("plan-new")).expect("there");
        let small = plan.resized(|_| 50);
        assert_eq!((small.name.as_str(), small.title.as_str()), ("plan-new-50", "plan, nothing there yet, 50 layer10"));
        assert_eq!(small.target, Target::default());
        assert!(small.is_called("plan-new-50") && !small.is_called("plan"));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([1, 999, 1000, 1_000_000].map(grouped), ["1", "999", "1,000", "1,000,000"]);
    }
}
