//! `purlin explain-error`: codes in words.

use crate::project::Project;

#[test]
fn a_code_is_explained_with_an_example() {
    let project = Project::new();
    let said = project.run(&["explain-error", "error[no-match]:"]).status(0);
    assert!(said.out.starts_with("Definitions and matching: no-match\n"), "{}", said.out);
    assert!(said.out.contains("  error[no-match]: no definition matches"), "{}", said.out);
    assert!(said.out.contains("What to do."), "{}", said.out);
    assert!(
        !said.out.contains("**") && !said.out.contains("](") && !said.out.contains("```"),
        "{}",
        said.out
    );
    assert_eq!(said.err, "");
}

#[test]
fn all_codes_are_listed() {
    let said = Project::new().run(&["explain-error"]).status(0).out;
    for code in ["no-match", "connection-refused", "inputs-changed", "found-by-name", "highest-in-range"] {
        assert!(said.lines().any(|line| line.trim_start().starts_with(&format!("{code} "))), "{code}");
    }
}

#[test]
fn a_misspelled_code_is_corrected() {
    let said = Project::new().run(&["explain-error", "no-mtach"]).status(2);
    assert_eq!(said.err, "error: there is no error code `no-mtach`\nhint: did you mean `no-match`?\n");
    let said = Project::new().run(&["explain-error", "something-else"]).status(2);
    assert!(said.err.contains("hint: `purlin explain-error` lists all codes"), "{}", said.err);
}
