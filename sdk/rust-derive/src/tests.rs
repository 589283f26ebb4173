use syn::{DeriveInput, parse_quote};

use crate::expand::{Role, expand};

fn written(role: Role, item: &DeriveInput) -> String {
    expand(role, item).map_or_else(|error| format!("error: {error}"), |tokens| tokens.to_string())
}

#[test]
fn what_cannot_be_described_is_rejected() {
    let cases: [(Role, DeriveInput, &str); 11] = [
        (
            Role::Inputs,
            parse_quote!(
                struct A {
                    value: V,
                }
            ),
            "`value` is not a group of inputs; there are values, ",
        ),
        (
            Role::Inputs,
            parse_quote!(
                struct A {
                    #[input(default)]
                    values: V,
                }
            ),
            "`input` has no attributes here",
        ),
        (
            Role::Inputs,
            parse_quote!(
                enum A {
                    B,
                }
            ),
            "has to be a struct with named fields",
        ),
        (
            Role::Input,
            parse_quote!(
                struct A(String);
            ),
            "a struct with named fields, or an enum",
        ),
        (
            Role::Input,
            parse_quote!(
                struct A<T> {
                    a: T,
                }
            ),
            "a type with parameters",
        ),
        (
            Role::Input,
            parse_quote!(
                struct A {
                    #[input(replace)]
                    a: u8,
                }
            ),
            "`replace` is not known here; there are default",
        ),
        (
            Role::Input,
            parse_quote!(
                struct A {
                    #[input(replaces = 1)]
                    a: u8,
                }
            ),
            "unexpected token",
        ),
        (
            Role::Input,
            parse_quote!(
                struct A {
                    #[input(min)]
                    a: u8,
                }
            ),
            "write `min = …`",
        ),
        (
            Role::Input,
            parse_quote!(
                struct A {
                    #[input(max(1))]
                    a: u8,
                }
            ),
            "write `name = value`",
        ),
        (
            Role::Input,
            parse_quote!(
                #[input(replaces)]
                struct A {
                    a: u8,
                }
            ),
            "there are holds_data, open",
        ),
        (
            Role::Outputs,
            parse_quote!(
                struct A {
                    #[output(secret)]
                    #[serde(rename = "b")]
                    a: u8,
                }
            ),
            "the name of its field",
        ),
    ];
    for (role, item, wanted) in cases {
        let said = written(role, &item);
        assert!(said.starts_with("error: ") && said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn names_that_a_struct_does_not_have_are_rejected_unless_it_is_open() {
    let closed = |item: DeriveInput, role| written(role, &item).contains("deny_unknown_fields");
    assert!(closed(
        parse_quote!(
            struct A {
                a: u8,
            }
        ),
        Role::Input
    ));
    assert!(!closed(
        parse_quote!(
            #[input(open)]
            struct A {
                a: u8,
            }
        ),
        Role::Input
    ));
    assert!(!closed(
        parse_quote!(
            struct A {
                #[serde(flatten)]
                rest: Object,
            }
        ),
        Role::Input
    ));
    assert!(
        !closed(
            parse_quote!(
                struct A {
                    values: Object,
                }
            ),
            Role::Inputs
        ),
        "the host gives every group"
    );
    let once = written(
        Role::Input,
        &parse_quote!(
            #[serde(deny_unknown_fields)]
            struct A {
                a: u8,
            }
        ),
    );
    assert_eq!(once.matches("deny_unknown_fields").count(), 1, "{once}");
}
