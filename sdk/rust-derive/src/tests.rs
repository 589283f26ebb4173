use crate::expand::{Role, expand};

fn written(role: Role, item: &str) -> String {
    let item = syn::parse_str(item).expect("a type");
    expand(role, &item).map_or_else(|error| format!("error: {error}"), |tokens| tokens.to_string())
}

#[test]
fn structs_that_cannot_describe_inputs_are_rejected() {
    let cases = [
        (Role::Inputs, "struct A { value: V }", "`value` is not a group of inputs; the groups are values, "),
        (Role::Inputs, "struct A { #[input(default)] values: V }", "`input` has no attributes here"),
        (Role::Inputs, "enum A { B }", "has to be a struct with named fields"),
        (Role::Input, "struct A(String);", "a struct with named fields, or an enum"),
        (Role::Input, "struct A<T> { a: T }", "a type with parameters"),
        (
            Role::Input,
            "struct A { #[input(replace)] a: u8 }",
            "`replace` is unknown here; the attributes are default",
        ),
        (Role::Input, "struct A { #[input(replaces = 1)] a: u8 }", "unexpected token"),
        (Role::Input, "struct A { #[input(min)] a: u8 }", "write `min = …`"),
        (Role::Input, "struct A { #[input(max(1))] a: u8 }", "write `name = value`"),
        (
            Role::Input,
            "#[input(replaces)] struct A { a: u8 }",
            "the attributes are holds_data, open, reaches, port",
        ),
        (
            Role::Outputs,
            "struct A { #[output(secret)] #[serde(rename = \"b\")] a: u8 }",
            "the name of its field",
        ),
    ];
    for (role, item, wanted) in cases {
        let output = written(role, item);
        assert!(output.starts_with("error: ") && output.contains(wanted), "{item}: {output}");
    }
}

#[test]
fn names_that_a_struct_does_not_have_are_rejected_unless_it_is_open() {
    let closed = |role, item| written(role, item).contains("deny_unknown_fields");
    assert!(closed(Role::Input, "struct A { a: u8 }"));
    assert!(!closed(Role::Input, "#[input(open)] struct A { a: u8 }"));
    assert!(!closed(Role::Input, "struct A { #[serde(flatten)] rest: Object }"));
    assert!(!closed(Role::Inputs, "struct A { values: Object }"), "the host gives every group");
    let once = written(Role::Input, "#[serde(deny_unknown_fields)] struct A { a: u8 }");
    assert_eq!(once.matches("deny_unknown_fields").count(), 1, "{once}");
}

#[test]
fn outputs_are_complete_unless_they_are_open() {
    let closed = |item| written(Role::Outputs, item).contains("\"additionalProperties\" = false");
    assert!(closed("struct A { a: u8 }"));
    assert!(!closed("#[output(open)] struct A { a: u8 }"));
    assert!(!closed("struct A { #[serde(flatten)] rest: Object }"));
}
