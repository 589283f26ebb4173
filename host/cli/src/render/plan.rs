//! Renders a plan as text: the action for each resource, its reasons, and the changes of its
//! inputs.

mod changes;
mod markdown;
mod parts;

use purlin_engine as engine;
use purlin_engine::{Action, Loss, LostData, Step, Suggestion, Tally, Warning};
use purlin_model::Reason;

use crate::style::{CREATE, DELETE, DIM, HINT, STRONG, UPDATE, WARNING, paint};
use crate::text;

use super::value;
pub(crate) use changes::{Variant, rows};
pub(crate) use markdown::{About, blocks, markdown};

/// Options for showing a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanView {
    /// The width of the terminal; `None` if the width is not limited.
    pub(crate) columns: Option<usize>,
    /// Whether every change is shown in full.
    pub(crate) everything: bool,
    /// The width of the longest values that are shown in full.
    longest: usize,
    /// How many different values of one input are shown.
    variants: usize,
}

impl PlanView {
    /// The view for an output of this width.
    pub(crate) fn new(columns: Option<usize>, everything: bool) -> Self {
        Self {
            columns,
            everything,
            longest: usize::MAX / 2,
            variants: if everything { usize::MAX } else { 3 },
        }
    }

    /// The view for a comment: every change, but neither arbitrarily long values nor those of a large fleet.
    pub(crate) fn of_comment() -> Self {
        Self { longest: 2_000, variants: 10, ..Self::new(None, true) }
    }

    /// The view for a line of a list in a comment.
    pub(crate) fn of_line() -> Self {
        Self::new(Some(400), false)
    }
}

/// With more changed resources than this, each takes one line.
pub(crate) const MANY: usize = 100;
/// How many changes of a new resource are shown.
const SHOWN_OF_NEW: usize = 6;
/// How many changes of an existing resource are shown.
const SHOWN_OF_CHANGED: usize = 20;

/// The part of a plan that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    /// Without resources that neither change nor wait.
    steps: Vec<&'a Step>,
    summary: Tally,
    warnings: &'a [Warning],
    suggestions: &'a [Suggestion],
}

impl<'a> From<&'a engine::Plan> for Plan<'a> {
    fn from(plan: &'a engine::Plan) -> Self {
        let is_shown = |step: &&Step| {
            !step.left_out && (step.action != Action::None || step.waits || step.moved_from.is_some())
        };
        Self {
            steps: plan.steps.iter().filter(is_shown).collect(),
            summary: plan.summary(),
            warnings: &plan.warnings,
            suggestions: &plan.suggestions,
        }
    }
}

/// The actions in the order in which they are shown.
const SECTIONS: [(Action, &str); 6] = [
    (Action::Read, "to read"),
    (Action::Adopt, "to adopt"),
    (Action::Create, "to create"),
    (Action::Update, "to update"),
    (Action::Replace, "to replace"),
    (Action::Delete, "to delete"),
];

/// The plan as lines of text, each ending in a newline.
pub(crate) fn render(plan: &Plan<'_>, look: PlanView) -> String {
    let mut out = String::new();
    let brief = plan.summary.changes() > MANY && !look.everything;
    for (action, title) in SECTIONS {
        let steps: Vec<&Step> = plan.steps.iter().copied().filter(|step| step.action == action).collect();
        if steps.is_empty() {
            continue;
        }
        out.push_str(&format!(
            "{}\n",
            paint(STRONG, format!("{} {title}", text::count(steps.len(), "resource")))
        ));
        for step in steps {
            if brief { one_line(&mut out, step, look) } else { in_full(&mut out, step, look) }
        }
        out.push('\n');
    }
    waiting(&mut out, plan, look);
    moved(&mut out, plan);
    for warning in plan.warnings {
        let text = format!("{}: {}", text::line(warning.key.as_str()), text::line(&warning.message));
        remark(&mut out, WARNING, "warning:", &text, look);
    }
    let renamed = match plan.suggestions {
        [] => None,
        [Suggestion { from, to }] => {
            let (from, to) = (text::line(from.as_str()), text::line(to.as_str()));
            Some(format!(
                "`{to}` looks like `{from}`, which would be deleted. If the resource was only renamed:"
            ))
        }
        several => Some(format!(
            "{} would be deleted, and created under other names. If they were only renamed:",
            text::count(several.len(), "resource")
        )),
    };
    if let Some(text) = renamed {
        remark(&mut out, HINT, "hint:", &text, look);
    }
    for suggestion in plan.suggestions {
        // Keep the command on one line, so that it can be copied.
        out.push_str(&format!("  {}\n", rename(suggestion)));
    }
    if !plan.warnings.is_empty() || !plan.suggestions.is_empty() {
        out.push('\n');
    }
    if brief {
        out.push_str(&paint(DIM, "To show every change in full: --verbose"));
        out.push('\n');
    }
    out.push_str(&summary(plan));
    out.push('\n');
    out
}

/// The command that records a rename.
pub(crate) fn rename(suggestion: &Suggestion) -> String {
    let (from, to) = (text::line(suggestion.from.as_str()), text::line(suggestion.to.as_str()));
    format!("purlin state rename '{from}' '{to}'")
}

/// A label and a text, wrapped at spaces to the width of the terminal.
fn remark(out: &mut String, style: anstyle::Style, word: &str, text: &str, look: PlanView) {
    let text = format!("{word} {text}");
    let lines = look.columns.map_or_else(|| vec![text.clone()], |columns| text::wrap(&text, columns));
    let text = lines.join("\n");
    out.push_str(&format!("{}{}\n", paint(style, word), text.strip_prefix(word).unwrap_or(&text)));
}

/// The resources that wait for others that no document declares.
fn waiting(out: &mut String, plan: &Plan<'_>, look: PlanView) {
    let waiting: Vec<&Step> = plan.steps.iter().copied().filter(|step| step.waits).collect();
    if waiting.is_empty() {
        return;
    }
    let title = format!("{} waiting", text::count(waiting.len(), "resource"));
    out.push_str(&format!("{}\n", paint(STRONG, title)));
    let shown = if look.everything { waiting.len() } else { MANY };
    for step in waiting.iter().take(shown) {
        in_full(out, step, look);
    }
    if waiting.len() > shown {
        out.push_str(&format!("  … and {} more\n", waiting.len() - shown));
    }
    out.push('\n');
}

/// The resources that get another name but do not change otherwise.
fn moved(out: &mut String, plan: &Plan<'_>) {
    let moved: Vec<(&Step, String)> =
        plan.steps.iter().filter_map(|step| Some((*step, step.previous_name()?))).collect();
    if moved.is_empty() {
        return;
    }
    out.push_str(&format!(
        "{}\n",
        paint(STRONG, format!("{} to move", text::count(moved.len(), "resource")))
    ));
    for (step, from) in moved {
        out.push_str(&format!(
            "  {} {} → {}\n",
            paint(UPDATE, "→ move  "),
            text::line(&from),
            text::line(step.key.as_str())
        ));
    }
    out.push('\n');
}

fn summary(plan: &Plan<'_>) -> String {
    let tally = plan.summary;
    if tally.changes() == 0 && tally.waiting > 0 {
        let (others, number) = (text::count(tally.none, "resource"), tally.waiting);
        return format!("Nothing to change: {others} up to date, {number} waiting.");
    }
    if tally.changes() == 0 {
        return match tally.none {
            0 => "Nothing to do: there are no resources.".to_owned(),
            1 => "Nothing to change: the only resource is up to date.".to_owned(),
            all => format!("Nothing to change: all {all} resources are up to date."),
        };
    }
    let parts: Vec<String> = [
        (tally.create, "to create"),
        (tally.update, "to update"),
        (tally.replace, "to replace"),
        (tally.delete, "to delete"),
        (tally.adopt, "to adopt"),
        (tally.read, "to read"),
        (tally.moved, "to move"),
        (tally.none, "unchanged"),
        (tally.waiting, "waiting"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{number} {what}"))
    .collect();
    let losses = match tally.loses_data {
        0 => String::new(),
        1 => format!("; {}", paint(DELETE, "1 loses data")),
        many => format!("; {}", paint(DELETE, format!("{many} lose data"))),
    };
    format!("{} {}{losses}.", paint(STRONG, "Plan:"), parts.join(", "))
}

/// The message about lost data.
fn loss(loss: &Loss) -> String {
    let message = match loss.what() {
        LostData::Unknown => "may lose data: its driver is missing".to_owned(),
        LostData::Named(what) => format!("loses data: {}", text::line(what)),
        LostData::Data => "loses data".to_owned(),
    };
    if loss.is_allowed() { format!("{message} (allowed by `allow_data_loss`)") } else { message }
}

/// The coloured sign and word of a step.
fn sign_of(step: &Step) -> String {
    if step.waits { paint(WARNING, "… wait") } else { sign(step.action.as_str()) }
}

/// The coloured sign and word of an action.
pub(crate) fn sign(action: &str) -> String {
    match action {
        "create" => paint(CREATE, "+ create"),
        "update" => paint(UPDATE, "~ update"),
        "replace" => paint(DELETE, "± replace"),
        "delete" => paint(DELETE, "- delete"),
        "read" => paint(DIM, "? read"),
        "adopt" => paint(CREATE, "< adopt"),
        _ => paint(DIM, "= none"),
    }
}

/// The column of the text next to the sign.
const INDENT: usize = 11;

/// The reasons for a step. That a new resource does not exist yet need not be mentioned.
fn why(step: &Step, everything: bool) -> String {
    let is_shown = |reason: &&Reason| everything || **reason != Reason::New;
    let reasons = step.reasons.iter().filter(is_shown).map(ToString::to_string);
    reasons.collect::<Vec<_>>().join("; ")
}

pub(crate) fn one_line(out: &mut String, step: &Step, look: PlanView) {
    let key = text::line(step.key.as_str());
    let mut remark = why(step, false);
    if step.action == Action::Update && !step.changes.is_empty() {
        let paths: Vec<String> = step.changes.iter().map(|change| value::path(&change.path)).collect();
        remark = paths.join(", ");
    }
    let room = look.columns.map(|columns| columns.saturating_sub(INDENT + text::width(&key) + 2));
    if let Some(lost) = step.loss() {
        // The loss takes precedence over the reasons if there is little space.
        let rest = if remark.is_empty() { String::new() } else { format!("; {remark}") };
        remark = format!(
            "{}{rest}",
            if *lost.what() == LostData::Unknown { "may lose data" } else { "loses data" }
        );
    }
    let remark = text::line(&remark);
    let remark = match room {
        Some(room) if room < 12 => "".into(),
        Some(room) => text::fit(&remark, room),
        None => remark,
    };
    out.push_str(&format!("  {} {key}", sign(step.action.as_str())));
    if !remark.is_empty() {
        out.push_str(&format!("  {}", paint(DIM, remark)));
    }
    out.push('\n');
}

fn in_full(out: &mut String, step: &Step, look: PlanView) {
    resource(out, step, &rows(step), look);
}

/// A resource with its reasons, and below it what is lost, its changes and its parts. The changes are `rows`,
/// since they may have other values in other environments.
pub(crate) fn resource(out: &mut String, step: &Step, rows: &[Vec<Variant<'_>>], look: PlanView) {
    let key = text::line(step.key.as_str());
    let mut reason = why(step, look.everything);
    if step.delete_before_replace {
        reason.push_str("; the old one is deleted first");
    }
    let reason = text::line(&reason);
    let fits =
        look.columns.is_none_or(|columns| INDENT + text::width(&key) + 2 + text::width(&reason) <= columns);
    out.push_str(&format!("  {} {}", sign_of(step), paint(STRONG, &key)));
    if fits && !reason.is_empty() {
        out.push_str(&format!("  {}", paint(DIM, &reason)));
    }
    out.push('\n');
    if !fits {
        let room = look.columns.unwrap_or(usize::MAX).saturating_sub(INDENT).max(20);
        for line in text::wrap(&reason, room) {
            out.push_str(&format!("{:INDENT$}{}\n", "", paint(DIM, line)));
        }
    }
    if let Some(lost) = step.loss() {
        let room = look.columns.unwrap_or(usize::MAX).saturating_sub(INDENT).max(20);
        for line in text::wrap(&loss(lost), room) {
            out.push_str(&format!("{:INDENT$}{}\n", "", paint(DELETE, line)));
        }
    }
    references(out, step, look);
    let limit = match step.action {
        _ if look.everything => usize::MAX,
        Action::Update | Action::Replace => SHOWN_OF_CHANGED,
        _ => SHOWN_OF_NEW,
    };
    changes::render(out, step.action, rows, limit, look);
    parts::render(out, step, look);
}

/// The fields that Purlin takes out of a manifest.
fn references(out: &mut String, step: &Step, look: PlanView) {
    let all = step.references.len();
    let shown = if look.everything || all <= SHOWN_OF_NEW + 1 { all } else { SHOWN_OF_NEW };
    let room = look.columns.map_or(usize::MAX, |columns| columns.saturating_sub(INDENT + 2).max(20));
    for field in step.references.iter().take(shown) {
        for line in text::wrap(&text::line(&field.to_string()), room) {
            out.push_str(&format!("{:INDENT$}  {}\n", "", paint(DIM, line)));
        }
    }
    if all > shown {
        let more = format!("… and {} more references (--verbose)", all - shown);
        out.push_str(&format!("{:INDENT$}  {}\n", "", paint(DIM, more)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purlin_engine::ValueChange;
    use purlin_model::driver::{Part, PartAction};
    use purlin_model::{Context, Key, Urn, Value};

    use crate::render::comment;

    fn change(path: &str, before: Option<Value>, after: Option<Value>) -> ValueChange {
        ValueChange { path: path.into(), before, after, replaces: false }
    }

    fn key(text: &str) -> Key {
        Key::parse(text).expect("a key")
    }

    fn step(action: Action, text: &str, reasons: &[Reason], changes: Vec<ValueChange>) -> Step {
        let urn = Urn::parse("urn:purlin:dev/default::shop::shared::thing.default::it").expect("a URN");
        let mut step = Step::new(key(text), urn, action);
        (step.reasons, step.changes) = (reasons.to_vec(), changes);
        step
    }

    /// What is shown, so that a plan needs no engine.
    #[derive(Default)]
    struct PlanFixture {
        steps: Vec<Step>,
        warnings: Vec<Warning>,
        suggestions: Vec<Suggestion>,
        loses_data: usize,
    }

    fn plan(steps: Vec<Step>) -> PlanFixture {
        PlanFixture { steps, ..PlanFixture::default() }
    }

    impl PlanFixture {
        fn plan(&self) -> Plan<'_> {
            let count = |action| self.steps.iter().filter(|step| step.action == action).count();
            let summary = Tally {
                create: count(Action::Create),
                update: count(Action::Update),
                replace: count(Action::Replace),
                delete: count(Action::Delete),
                none: count(Action::None),
                loses_data: self.loses_data,
                ..Tally::default()
            };
            let (warnings, suggestions) = (&*self.warnings, &*self.suggestions);
            Plan { steps: self.steps.iter().collect(), summary, warnings, suggestions }
        }
    }

    fn plain(plan: &PlanFixture, columns: Option<usize>) -> String {
        let styled = render(&plan.plan(), PlanView::new(columns, false));
        anstream::adapter::strip_str(&styled).to_string()
    }

    fn some() -> PlanFixture {
        let secret = |text: &str| Some(Value::from(text).into_secret());
        let mut plan = plan(vec![
            step(
                Action::Create,
                "dns.public#shared.api-dns",
                &[Reason::New],
                vec![
                    change("/values/host", None, Some("api.example.com".into())),
                    change("/params/ttl", None, Some(serde_json::json!(300).into())),
                ],
            ),
            step(Action::None, "base-env.default#base-env", &[], vec![]),
            step(
                Action::Update,
                "postgres.default#modules.web.externals.db",
                &[
                    Reason::InputsChanged,
                    Reason::DriverVersionChanged {
                        driver: "acme/postgres".into(),
                        before: "1.0.0".into(),
                        now: "1.1.0".into(),
                    },
                ],
                vec![
                    change(
                        "/values/size",
                        Some(serde_json::json!(10).into()),
                        Some(serde_json::json!(20).into()),
                    ),
                    change("/values/host", Some("db.internal".into()), Some(Value::unknown())),
                    change("/secrets/password", secret("hunter1"), secret("hunter2")),
                    change(
                        "/values/a very long path that goes on and on/and.on/beyond",
                        None,
                        Some("x".repeat(90).as_str().into()),
                    ),
                ],
            ),
            step(
                Action::Delete,
                "s3.default#modules.gone.externals.store",
                &[Reason::LeftDocuments { departure: None }],
                vec![],
            ),
        ]);
        plan.warnings.push(Warning { key: key("dns.public#shared.api-dns"), message: "a\u{1b}[31m".into() });
        plan
    }

    #[test]
    fn a_plan_reads_well_at_80_columns() {
        let text = plain(&some(), Some(80));
        for line in text.lines().filter(|line| !line.contains("very long path")) {
            assert!(text::width(line) <= 80, "{line}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_plan_reads_well_at_140_columns() {
        insta::assert_snapshot!(plain(&some(), Some(140)));
    }

    #[test]
    fn replacements_and_renames_read_well_at_80_columns() {
        let replaces = |path, before: Value, after: Value| ValueChange {
            replaces: true,
            ..change(path, Some(before), Some(after))
        };
        let mut plan = plan(vec![
            step(
                Action::Replace,
                "postgres.default#modules.web.externals.db",
                &[Reason::CannotChangeInPlace { path: "/values/region".into() }],
                vec![
                    replaces("/values/region", "europe-north-1".into(), "europe-west-4".into()),
                    replaces("/values/network", "net-4ae2afdf4f12bce85e47ef0bb960".into(), Value::unknown()),
                    replaces(
                        "/secrets/password",
                        Value::from("hunter1").into_secret(),
                        Value::from("hunter2").into_secret(),
                    ),
                ],
            ),
            step(Action::Create, "s3.default#modules.web.externals.store", &[Reason::New], vec![]),
            step(
                Action::Delete,
                "s3.default#modules.web.externals.files",
                &[Reason::LeftDocuments { departure: None }],
                vec![],
            ),
        ]);
        plan.suggestions.push(Suggestion {
            from: key("s3.default#modules.web.externals.files"),
            to: key("s3.default#modules.web.externals.store"),
        });
        plan.warnings.push(Warning {
            key: key("s3.default#modules.web.externals.queue"),
            message: "it is unknown whether an interrupted call created it, and nothing is done about it"
                .into(),
        });
        let text = plain(&plan, Some(80));
        for line in text.lines().filter(|line| !line.contains("purlin state rename")) {
            assert!(text::width(line) <= 80, "{line}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn renames_of_several_resources_are_named_together() {
        let mut plan = plan(vec![]);
        plan.suggestions = ["password", "workload"]
            .map(|name| Suggestion {
                from: key(&format!("{name}.default#modules.mail")),
                to: key(&format!("{name}.default#modules.notify")),
            })
            .into();
        let text = plain(&plan, Some(80));
        let hint = "hint: 2 resources would be deleted, and created under other names. If they were\n\
                    only renamed:\n  \
                    purlin state rename 'password.default#modules.mail' 'password.default#modules.notify'\n  \
                    purlin state rename 'workload.default#modules.mail' 'workload.default#modules.notify'\n";
        assert!(text.contains(hint), "{text}");
    }

    #[test]
    fn losses_of_data_stand_out_at_80_columns() {
        let named = |what: &str| LostData::Named(what.into());
        let replaces = ValueChange {
            replaces: true,
            ..change("/values/encoding", Some("UTF8".into()), Some("LATIN1".into()))
        };
        let mut plan = plan(vec![
            step(
                Action::Replace,
                "postgres.default#modules.web.externals.db",
                &[Reason::CannotChangeInPlace { path: "/values/encoding".into() }],
                vec![replaces],
            )
            .losing(
                named("every table of the database and everything in it, such as rows, views and functions"),
                false,
            ),
            step(Action::Delete, "s3.default#shared.files", &[Reason::Destroyed], vec![])
                .losing(LostData::Data, true),
            step(Action::Delete, "queue.default#shared.q", &[Reason::Destroyed], vec![])
                .losing(LostData::Unknown, false),
            step(Action::Delete, "dns.default#shared.www", &[Reason::Destroyed], vec![]),
        ]);
        plan.loses_data = 3;
        let text = plain(&plan, Some(80));
        assert!(text.lines().all(|line| text::width(line) <= 80), "{text}");
        for line in [
            "           loses data: every table of the database",
            "           loses data (allowed by `allow_data_loss`)",
            "           may lose data: its driver is missing",
            "Plan: 1 to replace, 3 to delete; 3 lose data.",
        ] {
            assert!(text.lines().any(|rendered| rendered.starts_with(line)), "{line}\n{text}");
        }
        let brief = |step: &Step| {
            let mut out = String::new();
            one_line(&mut out, step, PlanView::new(Some(80), false));
            anstream::adapter::strip_str(&out).to_string()
        };
        assert_eq!(
            brief(&plan.steps[1]),
            "  - delete s3.default#shared.files  loses data; its deletion was requested\n"
        );
        assert_eq!(brief(&plan.steps[3]), "  - delete dns.default#shared.www  its deletion was requested\n");
    }

    #[test]
    fn parts_are_below_their_resource() {
        let part = |address: &str, action, holds_data: Option<&str>| Part {
            address: address.into(),
            moved_from: None,
            type_name: "thing".into(),
            action,
            before: None,
            after: None,
            replaces: Vec::new(),
            holds_data: holds_data.map(str::to_owned),
            notes: purlin_model::Map::default(),
        };
        let because = purlin_model::Map::from_iter([("reason".into(), Value::from("its size changes"))]);
        let few = vec![
            part("module.vpc.aws_subnet.a[0]", PartAction::Create, None),
            Part { notes: because, ..part("b", PartAction::DeleteThenCreate, Some("every row\u{1b}[31m")) },
            Part { moved_from: Some("c".into()), ..part("d", PartAction::None, None) },
            part("e", PartAction::Forget, Some("nothing, as it stays")),
        ];
        let of = |parts: Vec<Part>| {
            let step = step(Action::Update, "module.default#shared.vpc", &[Reason::InputsChanged], vec![]);
            plain(&plan(vec![step.with_parts(parts)]), Some(80))
        };
        let text = of(few);
        let lines: Vec<&str> = text.lines().skip(1).take(7).collect();
        assert_eq!(
            lines,
            [
                "  ~ update module.default#shared.vpc  its inputs changed",
                "             ± replace b",
                "               loses data: every row\\u{1b}[31m",
                "               its size changes",
                "             + create module.vpc.aws_subnet.a[0]",
                "             → move c → d",
                "             = forget e",
            ],
            "{text}"
        );
        let (from, to) = ("m.a.".repeat(9), "m.b.".repeat(9));
        let moved = Part { moved_from: Some(from.clone()), ..part(&to, PartAction::Update, None) };
        let expected = format!("             ~ update {from}\n               → {to}\n");
        assert!(of(vec![moved]).contains(&expected), "two long addresses have a line each");
        let many = (0..30).map(|number| part(&number.to_string(), PartAction::Create, None)).collect();
        assert!(of(many).contains("             … and 10 more parts (--verbose)"));
    }

    #[test]
    fn secrets_are_masked_in_every_view() {
        let text = render(&some().plan(), PlanView::new(None, true));
        assert!(!text.contains("hunter"));
        assert!(!text.contains("\u{1b}[31m\n"), "the driver's escape is spelt out");
    }

    #[test]
    fn three_thousand_changes_take_three_thousand_lines() {
        let steps = (0..3000)
            .map(|n| {
                step(
                    Action::Create,
                    &format!("postgres.default#modules.web{n}.externals.db"),
                    &[Reason::New],
                    vec![change("/values/size", None, Some(serde_json::json!(n).into()))],
                )
            })
            .collect();
        let text = plain(&plan(steps), Some(80));
        assert_eq!(text.lines().count(), 3000 + 4);
        assert!(text.lines().all(|line| text::width(line) <= 80));
        assert!(text.ends_with("Plan: 3000 to create.\n"));
    }

    fn comment(plan: &PlanFixture) -> String {
        let context = Context {
            org: "default".into(),
            app: "shop".into(),
            env: purlin_model::EnvironmentId { id: "dev".into(), kind: "development".into() },
            namespace: "dev".into(),
            deployment: "1".into(),
        };
        markdown(&plan.plan(), About { context: &context, refused: &[], observed: &[] })
    }

    #[test]
    fn a_comment_has_the_summary_before_the_values() {
        let text = comment(&some());
        assert!(!text.contains("hunter") && !text.contains('\u{1b}'), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_comment_of_a_large_plan_keeps_what_loses_data() {
        let new = |number: usize| {
            let changes = vec![change("/values/size", None, Some("`".repeat(number % 7).as_str().into()))];
            step(Action::Create, &format!("thing.default#shared.t{number}"), &[Reason::New], changes)
        };
        let mut all: Vec<Step> = (0..4000).map(new).collect();
        all.push(step(Action::Delete, "dns.default#shared.www", &[Reason::Destroyed], vec![]));
        all.push(
            step(Action::Delete, "s3.default#shared.files", &[Reason::Destroyed], vec![])
                .losing(LostData::Data, false),
        );
        let text = comment(&plan(all));
        assert!(text.len() <= comment::LIMIT, "{}", text.len());
        let lines: Vec<&str> = text.lines().skip_while(|line| *line != "```diff").skip(1).take(3).collect();
        assert_eq!(lines[0], "- delete s3.default#shared.files  loses data; its deletion was requested");
        assert_eq!(lines[1], "- delete dns.default#shared.www  its deletion was requested");
        let shown = text.matches("\n+ create ").count();
        assert!(shown > 500 && text.contains(&format!("… and {} more resources", 4000 - shown)), "{text}");
        assert!(text.ends_with("`purlin plan --env dev --verbose` shows everything.\n"), "{text}");
    }

    #[test]
    fn an_empty_plan_says_so() {
        assert_eq!(plain(&plan(vec![]), Some(80)), "Nothing to do: there are no resources.\n");
        let same = plan(vec![step(Action::None, "a.default#b", &[], vec![])]);
        assert_eq!(plain(&same, Some(80)), "Nothing to change: the only resource is up to date.\n");
    }
}
