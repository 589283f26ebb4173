//! Options and commands of other tools, which work like the ones of Purlin that they stand for.

use purlin_systems::Project;

const DOCUMENTS: &str = "apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: echo}
spec:
  type: '*'
  driver: purlin/echo
  inputs: {values: {host: '${values.host}', where: '${context.namespace}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Deployment
metadata: {name: shop}
spec:
  values: {host: example.test}
  shared: {db: {type: s3}, zone: {type: route53}}
";

/// Command lines with the words of other tools, each with its equivalent and the exit status. They are a
/// session, in this order.
const PAIRS: &[(&str, &str, i32)] = &[
    ("version", "--version", 0),
    ("help preview", "help plan", 0),
    ("graph -o dot", "graph --format dot", 0),
    ("graph --json", "graph --format json", 0),
    ("preview --json", "plan --format json", 0),
    ("plan -json", "plan --format json", 0),
    ("plan -o json", "plan --format json", 0),
    ("plan -ojson", "plan --format json", 0),
    ("plan --output=json", "plan --format json", 0),
    ("plan --json --var host=a.test", "plan --format json --set host=a.test", 0),
    ("plan -json -var host=b.test", "plan --format json --set host=b.test", 0),
    ("plan -json -var=host=c.test", "plan --format json --set host=c.test", 0),
    ("plan -json -var-file=more.yaml", "plan --format json --values more.yaml", 0),
    ("plan --json --stack staging", "plan --format json --env staging", 0),
    ("plan --json --environment staging", "plan --format json --env staging", 0),
    ("plan --json -n web", "plan --format json --namespace web", 0),
    ("plan --json -target=zone", "plan --format json --target zone", 0),
    ("-chdir=.. plan -json", "--chdir .. plan --format json", 2),
    ("preview -detailed-exitcode", "plan --detailed-exitcode", 3),
    ("plan -no-color -out=saved.plan", "plan --color never --out saved.plan", 0),
    ("apply -auto-approve -json saved.plan", "apply --yes --format json saved.plan", 0),
    ("plan --json -replace=zone", "plan --format json --replace zone", 0),
    ("deploy --auto-approve --parallel 1", "up --yes --parallelism 1", 0),
    (
        "deploy -f app.yaml --approve --json --parallel 1",
        "up -f app.yaml --yes --format json --parallelism 1",
        0,
    ),
    ("deploy -auto-approve -lock-timeout=1s -f .", "up --yes --lock-timeout 1s -f .", 0),
    ("reconcile --auto-approve -parallelism=1", "reconcile --yes --parallelism 1", 0),
    ("output -json", "outputs --format json", 0),
    ("impact -o markdown app.yaml", "impact --format markdown app.yaml", 0),
    ("state mv zone route53#shared.main", "state rename zone route53#shared.main", 0),
    ("state rm --auto-approve main", "state forget --yes main", 0),
    ("state list --output json", "state list --format json", 0),
    ("down --approve --parallel=1 -json", "destroy --yes --parallelism=1 --format json", 0),
];

#[test]
fn words_of_other_tools_do_what_their_equivalents_do() {
    let project = || Project::with(&[("app.yaml", DOCUMENTS), ("more.yaml", "host: more.test\n")]);
    let (theirs, ours) = (project(), project());
    let time = regex::Regex::new(r#""milliseconds":\d+"#).expect("a pattern");
    // Resources that do not depend on each other are ready in any order.
    let run = |project: &Project, line: &str, status: i32| {
        let ran = project.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.status, status, "{line}:\n{}\n{}", ran.out, ran.err);
        let out = ran.out.replace(&project.path().display().to_string(), "PROJECT");
        let mut lines: Vec<String> =
            out.lines().map(|line| time.replace_all(line, "").into_owned()).collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    for (alias, equivalent, status) in PAIRS {
        let expected = run(&ours, equivalent, *status);
        assert_eq!(run(&theirs, alias, *status), expected, "`{alias}` and `{equivalent}`");
    }
}

#[test]
fn words_of_other_tools_are_not_shown() {
    let project = Project::empty();
    for (help, hidden) in [
        ("help", &["\n  output ", "\n  preview ", "\n  deploy ", "\n  down ", "\n  version "][..]),
        (
            "help up",
            &["--auto-approve", "--json", "--output", "-o,", "--var", "--stack", "-n,", "--no-color"],
        ),
        ("help state", &["\n  mv ", "\n  rm "]),
        ("markdown-help", &["--auto-approve", "--json", "--var", "--stack", "--no-color", "--parallel "]),
    ] {
        let shown = project.run(&help.split(' ').collect::<Vec<_>>()).status(0).out;
        for word in hidden {
            assert!(!shown.contains(word), "`{word}` is in `purlin {help}`:\n{shown}");
        }
    }
}

#[test]
fn documents_of_apply_are_only_compared_if_there_is_a_plan() {
    let project = Project::with(&[("app.yaml", DOCUMENTS)]);
    project.run(&["plan", "--out", "saved.plan"]).status(0);
    project.edit("app.yaml", "example.test", "other.test");
    project.run(&["apply", "--yes", "saved.plan", "-f", "app.yaml"]).status(2);
    assert!(project.recorded().is_empty());
    project.run(&["apply", "-f", "app.yaml"]).status(2);
    assert!(project.recorded().is_empty(), "nobody agreed");
    let ran = project.run(&["apply", "--yes", "-f", "app.yaml"]).status(2);
    assert!(ran.err.contains("`--yes` applies a plan, and none is named"), "{}", ran.err);
    assert!(project.recorded().is_empty(), "the plan may be an empty variable");
}
