use proptest::prelude::*;
use purlin_model::{Access, ContextField, Descriptor, Path, Reference};

use super::*;
use crate::{parse_descriptor, parse_selector};

fn at(offset: usize) -> Location {
    Location::new("t", 1, offset as u32 + 1)
}

fn parse(text: &str, dialect: Dialect) -> Result<Template, Vec<Diagnostic>> {
    parse_text(text, dialect, &at)
}

fn reference(text: &str, dialect: Dialect) -> Reference {
    match parse(text, dialect).expect(text) {
        Template::Text(text) => match &*text {
            [Piece::Placeholder(placeholder)] => placeholder.reference.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn path(text: &str) -> Path {
    Path(text.split_terminator('.').map(Into::into).collect())
}

fn descriptor(text: &str) -> Descriptor {
    parse_descriptor(text).expect(text)
}

#[test]
fn every_form_of_a_reference_reads_alike() {
    let host = Access::Outputs(path("host"));
    let resolved = |text: &str| match reference(text, Dialect::Definition) {
        Reference::Resource(descriptor, access) => (descriptor, access),
        other => panic!("{other:?}"),
    };
    for (text, expected) in [
        ("${resources.dns.outputs.host}", "dns"),
        ("${resources['dns'].outputs.host}", "dns"),
        ("${resources[\"dns\"]['outputs'][\"host\"]}", "dns"),
        ("${resources['dns.@#@'].outputs.host}", "dns.@#@"),
        ("${resources['dns.@'].outputs.host}", "dns.@"),
        ("${resources['dns#@'].outputs.host}", "dns#@"),
        ("${resources.dns.@#@.outputs.host}", "dns.@#@"),
        ("${resources['dns.public#shared.api-dns'].outputs.host}", "dns.public#shared.api-dns"),
        ("${resources.dns.public#shared.api-dns.outputs.host}", "dns.public#shared.api-dns"),
        ("${resources.base-env#base-env.outputs.host}", "base-env#base-env"),
        ("${resources.a#outputsx.outputs.host}", "a#outputsx"),
        ("${resources['a#x.outputs.y'].outputs.host}", "a#x.outputs.y"),
    ] {
        assert_eq!(resolved(text), (descriptor(expected), host.clone()), "{text}");
    }
    // The first `.outputs` ends the unbracketed form.
    assert_eq!(
        resolved("${resources.a#x.outputs.values.y}"),
        (descriptor("a#x"), Access::Outputs(path("values.y")))
    );
    for (text, access) in [
        ("${resources['config.default#aws'].account}", Access::Account),
        ("${resources.config#aws.guresid}", Access::Guresid),
        ("${resources.config#aws.outputs}", Access::Outputs(path(""))),
        ("${resources.config#aws.values.a.b}", Access::Values(path("a.b"))),
        (
            "${resources.config#aws.outputs['a.b'][0]}",
            Access::Outputs(Path(Box::new(["a.b".into(), "0".into()]))),
        ),
    ] {
        assert_eq!(resolved(text).1, access, "{text}");
    }
}

#[test]
fn every_form_of_a_selector_reads_alike() {
    for (text, expected) in [
        ("${resources.dns<route.outputs.path}", "dns<route"),
        ("${resources['dns<route'].outputs.path}", "dns<route"),
        ("${resources['dns.@#@<route'].outputs.path}", "dns.@#@<route"),
        (
            "${resources['gcs.@#@<workload>k8s-service-account'].outputs.path}",
            "gcs.@#@<workload>k8s-service-account",
        ),
        (
            "${resources['s3.default<s3.s3-read-only<workload>aws-role'].outputs.path}",
            "s3.default<s3.s3-read-only<workload>aws-role",
        ),
        ("${resources.workload>aws-policy.outputs.path}", "workload>aws-policy"),
        ("${resources.dns#shared.a>route.x#modules.b.outputs.path}", "dns#shared.a>route.x#modules.b"),
    ] {
        let Reference::Selected(selector, access) = reference(text, Dialect::Definition) else {
            panic!("{text} is a selector")
        };
        assert_eq!(*selector, parse_selector(expected).expect(expected), "{text}");
        assert_eq!(access, Access::Outputs(path("path")));
    }
}

#[test]
fn each_dialect_has_its_roots() {
    use Dialect::{Definition, DeploymentSet, Score};
    for (text, dialect, expected) in [
        ("${context.env.type}", Definition, Reference::Context(ContextField::EnvType)),
        ("${context['res'].guresid}", Definition, Reference::Context(ContextField::ResGuresid)),
        ("${context.namespace}", DeploymentSet, Reference::Context(ContextField::Namespace)),
        ("${values.a.b}", Definition, Reference::Value(path("a.b"))),
        ("${params['a-b']}", Definition, Reference::Param(path("a-b"))),
        ("${params}", Definition, Reference::Param(path(""))),
        ("${manifest}", Definition, Reference::Manifest(path(""))),
        ("${manifest.kind}", Definition, Reference::Manifest(path("kind"))),
        ("${metadata.name}", Score, Reference::Metadata(path("name"))),
        ("${resources.db.host}", Score, Reference::Named("db".into(), path("host"))),
        ("${resources.db}", Score, Reference::Named("db".into(), path(""))),
        ("${resources.a\\.b.c}", Score, Reference::Named("a.b".into(), path("c"))),
        ("${resources['my db'].host}", Score, Reference::Named("my db".into(), path("host"))),
        ("${externals.db.host}", DeploymentSet, Reference::Named("db".into(), path("host"))),
        ("${shared.dns.host}", DeploymentSet, Reference::Shared("dns".into(), path("host"))),
        ("${resources.db.host}", DeploymentSet, Reference::Named("db".into(), path("host"))),
        ("${values.K}", DeploymentSet, Reference::Value(path("K"))),
    ] {
        assert_eq!(reference(text, dialect), expected, "{text}");
    }
    for (text, dialect) in
        [("${metadata.name}", Definition), ("${context.app.id}", Score), ("${params.x}", DeploymentSet)]
    {
        assert_eq!(parse(text, dialect).expect_err(text)[0].code, "unknown-root");
    }
}

#[test]
fn escapes_differ_by_dialect() {
    let constant = |text, dialect| match parse(text, dialect).expect("parses") {
        Template::Constant(Value::String(text)) => text.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(constant("$\\{x} a$b $$ $", Dialect::Definition), "${x} a$b $$ $");
    assert_eq!(constant("$$_$${x} $5", Dialect::Score), "$_${x} $5");
    assert_eq!(constant("$\\{x}", Dialect::Score), "$\\{x}");
    // An escaped brace does not hide the text after it.
    let Template::Text(text) =
        parse("$\\{replace(\"${context.res.id}\")}", Dialect::Definition).expect("parses")
    else {
        panic!("it has a placeholder")
    };
    assert_eq!(text.len(), 3);
    assert_eq!(text[0], Piece::Literal("${replace(\"".into()));
}

#[test]
fn all_faults_are_reported_with_place_length_and_help() {
    let shown = |text: &str, dialect| {
        parse(text, dialect)
            .expect_err(text)
            .into_iter()
            .map(|fault| {
                format!(
                    "{}+{} {}: {} ({})",
                    fault.location.map_or(0, |place| place.column),
                    fault.length,
                    fault.code,
                    fault.message,
                    fault.help.unwrap_or_default()
                )
            })
            .collect::<Vec<_>>()
            .join("\n")
    };
    let mut all = String::new();
    for text in [
        "é ${params.x",
        "a ${} ${ }",
        "${ params.x } ${params.x | upper } ${ nope }",
        "${contex.app.id} and ${GREETING:-x}",
        "${context.app.idd}",
        "${context}",
        "${resources.dns.host}",
        "${resources['dns'].output.host}",
        "${resources['dns'].guresid.x}",
        "${resources['dns.Public'].outputs.host}",
        "${resources['dns<'].outputs.host}",
        "${resources['dns.outputs.host}",
        "${resources['dns'}",
        "${resources[dns].outputs.host}",
        "${resources.outputs.host}",
        "${resources}",
        "${params.${params.x}} ${nope}",
        "${params..x}",
        "${params.a b}",
        "${params['a']b}",
        "${.x}",
    ] {
        all.push_str(&format!("{text}\n{}\n", shown(text, Dialect::Definition)));
    }
    for text in ["${GREETING}", "${resources}", "${meta.name}", "${ metadata.name}"] {
        all.push_str(&format!("Score {text}\n{}\n", shown(text, Dialect::Score)));
    }
    insta::assert_snapshot!(all);
}

proptest! {
    #[test]
    fn no_text_panics(text in "(\\$|\\{|\\}|\\[|\\]|'|\"|<|>|#|\\.|\\\\|resources|context|params|outputs|[a-zé ])*") {
        for dialect in [Dialect::Definition, Dialect::Score, Dialect::DeploymentSet] {
            let _ = parse_text(&text, dialect, &|offset| {
                assert!(text.is_char_boundary(offset));
                at(offset)
            });
        }
    }

    #[test]
    fn text_without_a_dollar_is_itself(text in "[^$]*") {
        prop_assert_eq!(parse(&text, Dialect::Definition), Ok(Template::Constant(Value::string(text))));
    }

    #[test]
    fn any_text_can_be_escaped(text in "\\PC*") {
        let score = text.replace('$', "$$");
        prop_assert_eq!(parse(&score, Dialect::Score), Ok(Template::Constant(Value::string(text.clone()))));
        if !text.contains("$\\{") {
            let escaped = text.replace("${", "$\\{");
            prop_assert_eq!(parse(&escaped, Dialect::Definition), Ok(Template::Constant(Value::string(text))));
        }
    }
}

#[test]
fn modifiers_are_distinguished_from_paths() {
    use purlin_model::{Absent, Pipe};

    use Dialect::Definition;

    let parsed = |text: &str| {
        let Ok(Template::Text(text)) = parse_text(text, Definition, &|_| Location::default()) else {
            panic!("{text}: a template")
        };
        let [Piece::Placeholder(placeholder)] = &*text else { panic!("one placeholder") };
        (placeholder.reference.clone(), placeholder.modifiers.clone().map(|modifiers| *modifiers))
    };
    let (reference, modifiers) = parsed("${resources.db#what?|x.outputs.url? | urlencode | lower}");
    assert!(
        matches!(reference, Reference::Resource(descriptor, _) if descriptor.to_string() == "db#what?|x")
    );
    let modifiers = modifiers.expect("has some");
    assert_eq!((modifiers.absent, modifiers.pipes), (Absent::LeftOut, vec![Pipe::UrlEncode, Pipe::Lower]));
    assert_eq!(parsed("${params['a ?? b | c']}").1, None);
    for (text, code, at) in [
        ("${params.x | nope}", "unknown-pipe", 13),
        ("${params.x | Upper}", "unknown-pipe", 13),
        ("${params.x |}", "unknown-pipe", 12),
        ("${params.x ??}", "placeholder", 13),
        ("${params.x ?? nope}", "placeholder", 14),
        ("${params.x? ?? 1}", "placeholder", 10),
        ("${params.x ?? 1 2}", "placeholder", 16),
        ("${params.x???}", "placeholder", 12),
        ("${? | upper}", "placeholder", 2),
        ("${params.x ?? 'a}", "quoting", 14),
    ] {
        let at_column = |at: usize| Location::new("t", 1, at as u32);
        let faults = parse_text(text, Definition, &at_column).expect_err(text);
        let column = faults[0].location.as_ref().map(|location| location.column);
        assert_eq!((faults[0].code, column), (code, Some(at)), "{text}: {faults:?}");
    }
}
