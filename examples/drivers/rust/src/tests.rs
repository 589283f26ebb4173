use std::cell::RefCell;
use std::fs;

use purlin_sdk::Failure;
use purlin_sdk::testing::{self, GivenInputs, HostMessage, inputs};
use serde_json::json;
use tempfile::TempDir;

use crate::{Note, notes};

thread_local! {
    pub(crate) static FOLDER: RefCell<TempDir> = RefCell::new(tempfile::tempdir().expect("a folder"));
}

fn note(text: &str) -> GivenInputs {
    inputs(&json!({"values": {"title": "hello", "text": text}}))
}

#[test]
fn a_note_lives() {
    let state = testing::create::<Note>(note("Hello.")).expect("made");
    assert_eq!(
        fs::read_to_string(notes::path("hello")).expect("there"),
        "Hello.\n"
    );
    assert!(
        testing::messages()
            .iter()
            .any(|message| matches!(message, HostMessage::Checkpoint(id, None) if id == "hello"))
    );
    testing::create::<Note>(note("Hello.")).expect("the same attempt again");
    assert!(matches!(
        testing::create::<Note>(note("Hi.")),
        Err(Failure::Conflict(_))
    ));

    fs::write(notes::path("hello"), "Somebody was here.\n").expect("written");
    let seen = testing::read::<Note>(note("Hello."), &state)
        .expect("read")
        .expect("there");
    assert_eq!(seen.values.expect("values")["text"], "Somebody was here.");

    testing::update::<Note>(note("Hello."), note("Bye."), &state).expect("changed");
    assert_eq!(
        fs::read_to_string(notes::path("hello")).expect("there"),
        "Bye.\n"
    );

    testing::delete::<Note>(note("Bye."), &state).expect("deleted");
    testing::delete::<Note>(note("Bye."), &state).expect("gone already");
    assert!(
        testing::read::<Note>(note("Bye."), &state)
            .expect("read")
            .is_none()
    );
}

#[test]
fn every_fault_is_reported() {
    let wrong = inputs(&json!({"values": {"title": 7, "color": "red"}}));
    let Err(Failure::InvalidInputs(faults)) = testing::check::<Note>(wrong, None) else {
        panic!("this is not valid");
    };
    let mut places: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    places.sort();
    assert_eq!(
        places,
        ["/values", "/values/color", "/values/title"],
        "`text` is missing in `values`"
    );
}

#[test]
fn a_title_is_drawn_once() {
    let given = inputs(&json!({"values": {"text": "Hello."}}));
    let checked = testing::check::<Note>(given, None).expect("valid");
    assert_eq!(checked.values["title"], "0123456789ab");
}

#[test]
fn the_signature_stays_secret() {
    let signed =
        inputs(&json!({"values": {"title": "s", "text": "x"}, "secrets": {"signature": "hush"}}));
    let state = testing::create::<Note>(signed.clone()).expect("made");
    assert_eq!(state.secrets["mark"], "s:hush");
    assert!(
        !fs::read_to_string(notes::path("s"))
            .expect("there")
            .contains("hush")
    );
    let seen = testing::read::<Note>(signed, &state)
        .expect("read")
        .expect("there");
    assert_eq!(seen.values.expect("values")["text"], "x");
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    testing::check_readme::<Note>(readme).expect("`PURLIN_BLESS=1 cargo test` writes them");
}
