//! Tests that the command-line reference in the book matches the program.

use std::path::Path;

use purlin_systems::Project;

#[test]
fn the_reference_in_the_book_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/cli.md");
    let made = Project::empty().run(&["markdown-help"]).status(0).out;
    if std::env::var_os("PURLIN_BLESS").is_some() {
        std::fs::write(&page, &made).expect("the page is written");
    }
    let written = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        made == written,
        "docs/src/reference/cli.md is stale: `cargo xtask bless the_reference_in_the_book` writes it"
    );
}
