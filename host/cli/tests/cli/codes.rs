//! `purlin explain-error`: codes in words.

use purlin_systems::Project;

#[test]
fn a_code_is_explained_with_an_example() {
    let project = Project::new();
    let output = project.run(&["explain-error", "error[no-match]:"]).status(0);
    assert!(output.out.starts_with("Definitions and matching: no-match\n"), "{}", output.out);
    assert!(output.out.contains("  error[no-match]: no definition matches"), "{}", output.out);
    assert!(output.out.contains("What to do."), "{}", output.out);
    assert!(
        !output.out.contains("**") && !output.out.contains("](") && !output.out.contains("```"),
        "{}",
        output.out
    );
    assert_eq!(output.err, "");
}

#[test]
fn all_codes_are_listed() {
    let stdout = Project::new().run(&["explain-error"]).status(0).out;
    for code in ["no-match", "connection-refused", "inputs-changed", "found-by-name", "highest-in-range"] {
        assert!(stdout.lines().any(|line| line.trim_start().starts_with(&format!("{code} "))), "{code}");
    }
}

#[test]
fn a_misspelled_code_is_corrected() {
    let output = Project::new().run(&["explain-error", "no-mtach"]).status(2);
    assert_eq!(output.err, "error: there is no error code `no-mtach`\nhint: did you mean `no-match`?\n");
    let output = Project::new().run(&["explain-error", "something-else"]).status(2);
    assert!(output.err.contains("hint: `purlin explain-error` lists all codes"), "{}", output.err);
}
