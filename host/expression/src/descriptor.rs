//! Names of resources as text: descriptors and selectors (SPEC §2, Names; §4).

use purlin_model::{
    Class, Descriptor, DescriptorPart, Direction, Hop, NameError, ResourceId, Selector, TypeName,
};

/// A text that is not a descriptor or not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DescriptorError {
    /// The fault, as a lower-case fragment.
    pub message: String,
    /// Byte offset of the wrong part within the text.
    pub start: usize,
    /// Byte offset after it.
    pub end: usize,
    /// How to correct it.
    pub help: String,
}

const FORM: &str = "a descriptor is `TYPE[.CLASS][#ID]`, such as `dns.public#shared.api`; `@` as class or id means the current resource";
const SELECTOR_FORM: &str =
    "a selector is a descriptor and then hops, such as `gcs<workload>k8s-service-account`";

/// Reads `TYPE[.CLASS][#ID]`: the first `.` after the type begins the class, the first `#` the id.
///
/// # Errors
/// If a part is missing or malformed, with its place.
pub fn parse_descriptor(text: &str) -> Result<Descriptor, DescriptorError> {
    if let Some(at) = text.find(['<', '>']) {
        return Err(DescriptorError {
            message: "a selector is not allowed here".into(),
            start: at,
            end: text.len(),
            help: FORM.into(),
        });
    }
    descriptor_at(text, 0)
}

/// Reads `START<A>B…`, with at least one hop.
///
/// # Errors
/// If there is no hop, or a part is missing or malformed, with its place.
pub fn parse_selector(text: &str) -> Result<Selector, DescriptorError> {
    match parse_either(text)? {
        Either::Selector(selector) => Ok(selector),
        Either::Descriptor(_) => Err(DescriptorError {
            message: "a selector needs a `<` or a `>`".into(),
            start: 0,
            end: text.len(),
            help: SELECTOR_FORM.into(),
        }),
    }
}

/// What may follow `resources`.
pub(crate) enum Either {
    Descriptor(Descriptor),
    Selector(Selector),
}

/// Reads whichever of the two it is.
pub(crate) fn parse_either(text: &str) -> Result<Either, DescriptorError> {
    let Some(first) = text.find(['<', '>']) else {
        return descriptor_at(text, 0).map(Either::Descriptor);
    };
    let start = descriptor_at(&text[..first], 0)?;
    let mut hops = Vec::new();
    let mut at = first;
    while at < text.len() {
        let direction =
            if text[at..].starts_with('<') { Direction::Dependents } else { Direction::Dependencies };
        let from = at + 1;
        let to = text[from..].find(['<', '>']).map_or(text.len(), |length| from + length);
        hops.push(Hop { direction, target: descriptor_at(&text[from..to], from)? });
        at = to;
    }
    Ok(Either::Selector(Selector { start, hops }))
}

/// Reads the descriptor `text`, which begins at offset `base` of the text that errors refer to.
fn descriptor_at(text: &str, base: usize) -> Result<Descriptor, DescriptorError> {
    let (head, id) = match text.find('#') {
        Some(at) => (&text[..at], Some((at + 1, &text[at + 1..]))),
        None => (text, None),
    };
    let (type_name, class) = match head.find('.') {
        Some(at) => (&head[..at], Some((at + 1, &head[at + 1..]))),
        None => (head, None),
    };
    let fault = |at: usize, part: &str, what: &str, error: NameError| DescriptorError {
        message: if part.is_empty() {
            format!("the {what} of a descriptor is missing")
        } else {
            error.to_string()
        },
        start: base + at,
        end: base + at + part.len(),
        help: FORM.into(),
    };
    Ok(Descriptor {
        type_name: TypeName::new(type_name).map_err(|error| fault(0, type_name, "type", error))?,
        class: match class {
            None => DescriptorPart::Omitted,
            Some((_, "@")) => DescriptorPart::Here,
            Some((at, class)) => {
                DescriptorPart::Named(Class::new(class).map_err(|error| fault(at, class, "class", error))?)
            }
        },
        id: match id {
            None => DescriptorPart::Omitted,
            Some((_, "@")) => DescriptorPart::Here,
            Some((at, id)) => {
                DescriptorPart::Named(ResourceId::new(id).map_err(|error| fault(at, id, "id", error))?)
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part<T: Clone + std::fmt::Debug + 'static>(
        names: impl Strategy<Value = T> + 'static,
    ) -> impl Strategy<Value = DescriptorPart<T>> {
        prop_oneof![
            Just(DescriptorPart::Omitted),
            Just(DescriptorPart::Here),
            names.prop_map(DescriptorPart::Named)
        ]
    }

    fn descriptors() -> impl Strategy<Value = Descriptor> {
        (
            "[A-Za-z0-9][A-Za-z0-9_/-]{0,8}",
            part("[a-z0-9][a-z0-9-]{0,8}".prop_filter_map("a class", |c| Class::new(c).ok())),
            part("[!-~éü]{1,12}".prop_filter_map("an id", |i| ResourceId::new(i).ok())),
        )
            .prop_filter_map("a type", |(type_name, class, id)| {
                Some(Descriptor { type_name: TypeName::new(type_name).ok()?, class, id })
            })
    }

    fn selectors() -> impl Strategy<Value = Selector> {
        let hop = (any::<bool>(), descriptors()).prop_map(|(up, target)| Hop {
            direction: if up { Direction::Dependents } else { Direction::Dependencies },
            target,
        });
        (descriptors(), proptest::collection::vec(hop, 1..4))
            .prop_map(|(start, hops)| Selector { start, hops })
    }

    proptest! {
        #[test]
        fn displayed_descriptors_parse(descriptor in descriptors(), selector in selectors()) {
            prop_assert_eq!(parse_descriptor(&descriptor.to_string()), Ok(descriptor));
            prop_assert_eq!(parse_selector(&selector.to_string()), Ok(selector));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            for error in [parse_descriptor(&text).err(), parse_selector(&text).err()].into_iter().flatten() {
                prop_assert!(text.get(error.start..error.end).is_some());
            }
        }
    }

    #[test]
    fn dots_and_signs_belong_to_the_id() {
        let descriptor = parse_descriptor("dns.public#shared.api-dns@2").expect("a descriptor");
        assert_eq!(descriptor.id, DescriptorPart::Named(ResourceId::new("shared.api-dns@2").expect("an id")));
        let descriptor = parse_descriptor("acme/queue#a.b").expect("a descriptor");
        assert_eq!((&*descriptor.type_name, &descriptor.class), ("acme/queue", &DescriptorPart::Omitted));
    }

    #[test]
    fn faults_have_their_place() {
        let fault = |text: &str| {
            let error = parse_selector(text).expect_err(text);
            (error.start, error.end)
        };
        assert_eq!(fault("dns.Public<route"), (4, 10));
        assert_eq!(fault("dns<"), (4, 4));
        assert_eq!(fault("dns<ro ute"), (4, 10));
        assert_eq!(fault("dns#a#b>x"), (4, 7));
        assert_eq!(fault("dns"), (0, 3));
        assert!(parse_descriptor("dns<route").is_err());
        assert!(parse_descriptor("").expect_err("empty").message.contains("missing"));
        assert!(parse_descriptor("dns.#x").is_err());
    }
}
