//! What is no document is shown nowhere: it may be the file of a secret store, or the values of another tool.

use std::fmt::Write as _;

use purlin_systems::Project;

/// Mistakes in YAML and JSON; `@` stands for a secret.
const BROKEN: &[&str] = &[
    "password: @: tail\n",
    "password: @ : tail\n",
    "a: 1\npassword: \"@\nb: 2\n",
    "a: 1\npassword: '@\nb: 2\n",
    "a:\n\tpassword: @\n",
    "a:\n  b: 1\n password: @\n",
    "a:\n  b: 1\n   @: x\n",
    "a: 1\n@\nb: 2\n",
    "a: 1\n@ tail\nb: 2\n",
    "a: 1\nkey@ tail\nb: 2\n",
    "a: 1\nkey:@\nb: 2\n",
    "a:\n- x\n-@\n",
    "a: [x, @\nb: 2\n",
    "a: {x: @\nb: 2\n",
    "a: {x: ${@}, y: 1}\n",
    "a: [x${@}]\n",
    "a: * @\n",
    "a: *@\n",
    "a: [* @]\n",
    "a: {{ @ }}\n",
    "a: [{{ @ }}, 1]\n",
    "{{ @ }}\n",
    "a: 1\n@: x\n@: y\n",
    "a: \"\\q@\"\n",
    "a: \"@\\u12\"\n",
    "a: @\u{1}\n",
    "<<<<<<< @\na: 1\n=======\na: 2\n>>>>>>> @\n",
    "a: |\n    x\n  @: y\n b\n",
    "a: |9x @\n  b\n",
    "%@ 1.1\n---\na: [\n",
    "%YAML @\n---\na: 1\n",
    "!<@> a: [\n",
    "&@ &@ a: 1\n",
    "a: !!@ [\n",
    "? [@\n: x\n",
    "a: @\n--- @\nb: [\n",
    "a: `@`\n",
    "a: %@\n",
    "a: ,@\n",
    "a: @\u{feff}\n\u{feff}b: [\n",
    "- @\nb: 1\n",
    "@: &a [*a, *@]\n",
    "<<: @\nb: [\n",
    "a: [@]]\n",
    "{\"password\": \"@\",}\n{",
    "{\"password\": \"@\"\n\"b\": 1}\n",
    "{'password': '@' 'b': 1}\n",
];

/// Nesting and other limits.
fn limits(secret: &str) -> Vec<String> {
    let mut bomb = format!("a0: &a0 [{secret}, {secret}, {secret}, {secret}]\n");
    for n in 1..16 {
        let _ = writeln!(bomb, "a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}]", n - 1);
    }
    vec![
        format!("{}{secret}", "[".repeat(2_000)),
        format!("{}: 1", format!("{{{secret}: ").repeat(2_000)),
        bomb,
    ]
}

#[test]
fn text_of_what_is_no_document_is_shown_nowhere() {
    let project = Project::new();
    project.run(&["up", "--yes"]).status(0);
    let mut secrets = Vec::new();
    let mut add = |text: &dyn Fn(&str) -> String| {
        let secret = format!("s3hunter{}", secrets.len() + 100);
        let ending = if secrets.len() % 3 == 0 { "yml" } else { "yaml" };
        project.write(&format!("beside/{}.{ending}", secrets.len()), text(&secret));
        secrets.push(secret);
    };
    for broken in BROKEN {
        add(&|secret| broken.replace('@', secret));
    }
    for index in 0..limits("").len() {
        add(&|secret| limits(secret).swap_remove(index));
    }
    add(&|secret| format!("{{\"password\": \"{secret}\",,}}"));
    let mut faults = 0;
    for command in ["validate", "graph", "plan", "up --yes", "impact", "bundle explain acme/x", "doctor"] {
        for options in ["", " --verbose", " --format json", " --format json --verbose"] {
            let run = format!("{command}{options}");
            let ran = project.run(&run.split(' ').collect::<Vec<_>>());
            faults += ran.err.matches("error[").count() + ran.out.matches("\"severity\":\"error\"").count();
            for (number, secret) in secrets.iter().enumerate() {
                // A prefix, or another form of it, would show it as well.
                for part in [&**secret, "s3hunter"] {
                    let place = ran
                        .out
                        .find(part)
                        .map(|at| (&ran.out, at))
                        .or(ran.err.find(part).map(|at| (&ran.err, at)));
                    assert!(
                        place.is_none(),
                        "`{run}` shows the text of {number}: {:?}",
                        place.and_then(|(text, at)| text.get(at.saturating_sub(200)..at + 60))
                    );
                }
            }
        }
    }
    assert!(faults > 100, "nothing was wrong with them: {faults}");
}

/// It does not matter who names a file: documents, values and cases that are none are not shown either.
#[test]
fn text_of_named_files_is_shown_nowhere() {
    let others = ["@:x:0:0:@:/@:/bin/@\n", "machine: @\npassword: @\n", "- @\n", "@\n", "{\"a\": \"@\"}\n"];
    for broken in BROKEN.iter().chain(&others) {
        let project = Project::new();
        project.write("named", broken.replace('@', "s3hunter"));
        let drivers = std::env::var("PURLIN_DRIVERS_DIR").unwrap_or_default();
        for command in [
            "validate . --credentials named",
            "validate . --params named",
            "validate . --values named",
            "validate named",
            "plan -f named",
            "graph named",
            "bundle explain acme/x -f named",
            &format!("driver check {drivers}/echo.wasm --cases named"),
        ] {
            let ran = project.run(&command.split(' ').collect::<Vec<_>>());
            let shown = [&ran.out, &ran.err].into_iter().any(|text| text.contains("s3hunter"));
            assert!(!shown, "{broken:?} {command}: {}{}", ran.out, ran.err);
        }
    }
}
