//! The cases: what is measured, in which size, and with which target (SPEC §12).

use super::shape::Shape;
use super::task::{Act, Task};

/// A case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Its name without the size.
    base: &'static str,
    /// Its description without the size.
    words: &'static str,
    pub(crate) what: What,
    pub(crate) target: Target,
    /// Whether peers are measured as well. Cases that would take them hours are left out.
    pub(crate) peers: bool,
}

/// The subject of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A task of a program, as a whole process.
    Task(Task),
    /// A graph from documents in memory.
    Graph(Shape, usize),
    /// A driver call, compared with plain wasmtime.
    Call,
}

/// The targets; a field is `None` if there is no target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) seconds: Option<f64>,
    /// The maximum memory in bytes.
    pub(crate) peak: Option<f64>,
    /// The name of another fact, and its maximum.
    pub(crate) fact: Option<(&'static str, f64)>,
}

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;

/// All cases, or all with a tenth of the size.
pub(crate) fn cases(quick: bool) -> Vec<Case> {
    let layers = Shape::Layers;
    let plan_new = Case::task("plan-new", "plan, nothing exists yet", Act::PlanNew, layers, 10_000);
    let plan_same = Case::task("plan-same", "plan, nothing changed", Act::PlanSame, layers, 10_000);
    let apply = |shape, count| Case::task("apply", "apply", Act::Apply, shape, count);
    let independent = Case::task("apply-ind", "apply", Act::Apply, Shape::Independent, 10_000);
    let chain = Case::task("apply-chain", "apply", Act::Apply, Shape::Chain, 1_000);
    let destroy = |count| Case::task("destroy", "destroy", Act::Destroy, layers, count);
    let words = "start of the program to the first driver call";
    let all = vec![
        Case::graph(100_000).within(1.0).fact("bytes of graph per resource", KIB),
        Case::graph(1_000_000).within(12.0).fact("bytes of graph per resource", KIB),
        Case::task("validate", "graph from documents on disk", Act::Validate, layers, 100_000).alone(),
        plan_new.within(0.5).peak(100.0),
        plan_same.within(0.3),
        apply(layers, 1_000).within(0.15),
        apply(layers, 10_000).within(1.5).peak(150.0).alone(),
        independent.alone(),
        chain.within(0.5).fact("bytes of state", 2e6),
        destroy(1_000),
        destroy(10_000).within(1.5).alone(),
        Case::task("start", words, Act::Start, layers, 1).within(0.02).peak(30.0),
        Case::call().fact("ratio to bare wasmtime", 1.5),
    ];
    if !quick {
        return all;
    }
    let mut small: Vec<Case> = all.into_iter().map(|case| case.resized(|count| count.div_ceil(10))).collect();
    small.dedup_by(|a, b| a.base == b.base);
    small
}

impl Case {
    fn new(base: &'static str, words: &'static str, what: What) -> Self {
        Self { base, words, what, target: Target::default(), peers: true }
    }

    fn task(base: &'static str, words: &'static str, act: Act, shape: Shape, count: usize) -> Self {
        Self::new(base, words, What::Task(Task { act, shape, count }))
    }

    fn graph(count: usize) -> Self {
        Self::new("graph", "graph from documents in memory", What::Graph(Shape::Layers, count)).alone()
    }

    fn call() -> Self {
        Self::new("call", "a driver call in a fresh instance", What::Call).alone()
    }

    fn within(mut self, seconds: f64) -> Self {
        self.target.seconds = Some(seconds);
        self
    }

    fn peak(mut self, mib: f64) -> Self {
        self.target.peak = Some(mib * MIB);
        self
    }

    fn fact(mut self, name: &'static str, most: f64) -> Self {
        self.target.fact = Some((name, most));
        self
    }

    fn alone(mut self) -> Self {
        self.peers = false;
        self
    }

    /// The shape and the size, if the case has them.
    fn size(&self) -> Option<(Shape, usize)> {
        match self.what {
            What::Task(Task { act: Act::Start, .. }) | What::Call => None,
            What::Task(Task { shape, count, .. }) | What::Graph(shape, count) => Some((shape, count)),
        }
    }

    /// The name for `--only`.
    pub(crate) fn name(&self) -> String {
        match self.size() {
            Some((_, count)) => format!("{}-{count}", self.base),
            None => self.base.into(),
        }
    }

    /// The description.
    pub(crate) fn title(&self) -> String {
        match self.size() {
            Some((shape, count)) => format!("{}, {} {shape}", self.words, grouped(count)),
            None => self.words.into(),
        }
    }

    /// The same case with another size, without targets.
    pub(crate) fn resized(mut self, resize: impl Fn(usize) -> usize) -> Self {
        if let Some((_, count)) = self.size()
            && resize(count) != count
        {
            match &mut self.what {
                What::Task(task) => task.count = resize(count),
                What::Graph(_, old) => *old = resize(count),
                What::Call => {}
            }
            self.target = Target::default();
        }
        self
    }

    /// Whether a name, with or without the size, denotes this case.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        name == self.base || name == self.name()
    }
}

/// A number with separated thousands.
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
    fn names_differ() {
        for quick in [false, true] {
            let mut names: Vec<String> = cases(quick).iter().map(Case::name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{names:?}");
        }
    }

    #[test]
    fn another_size_has_another_name_and_no_target() {
        let plan = cases(false).into_iter().find(|case| case.is_called("plan-new")).expect("there");
        assert!(plan.is_called("plan-new-10000") && !plan.is_called("plan"));
        let small = plan.resized(|_| 50);
        assert_eq!(
            (small.name(), small.title()),
            ("plan-new-50".into(), "plan, nothing exists yet, 50 layer10".into())
        );
        assert_eq!(small.target, Target::default());
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([1, 999, 1000, 1_000_000].map(grouped), ["1", "999", "1,000", "1,000,000"]);
    }
}
