//! Our attributes, and their translation for serde and schemars.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Meta, Token, parse_quote};

use crate::expand::Role;

/// The attributes of a field or of a whole type.
#[derive(Default)]
pub(crate) struct InputAttributes {
    /// Attributes for the copy.
    pub(crate) attributes: Vec<Attribute>,
    /// The default; without a value, it is the default of the type.
    pub(crate) default: Option<Option<Expr>>,
    /// Whether it is secret.
    pub(crate) secret: Option<Span>,
    /// Whether there may be names that the struct does not have.
    pub(crate) open: bool,
}

impl InputAttributes {
    /// Whether a serde attribute contains a word.
    pub(crate) fn has_serde_word(&self, word: &str) -> bool {
        self.attributes.iter().filter(|attribute| attribute.path().is_ident("serde")).any(|attribute| {
            let metas = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            metas.is_ok_and(|metas| metas.iter().any(|meta| meta.path().is_ident(word)))
        })
    }
}

/// Schema keywords with a value, by attribute.
const KEYWORDS: [(&str, &str); 11] = [
    ("min", "minimum"),
    ("max", "maximum"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("pattern", "pattern"),
    ("format", "format"),
    ("one_of", "enum"),
    ("reaches", "x-purlin-reaches"),
    ("port", "x-purlin-port"),
];

/// Schema keywords that are true or absent.
const MARKS: [(&str, &str); 3] = [
    ("replaces", "x-purlin-replaces"),
    ("immutable", "x-purlin-immutable"),
    ("write_once", "x-purlin-write-once"),
];

/// The place of an attribute.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum AttributePlace {
    Type,
    Field,
}

/// The attributes that are allowed at a place.
fn known(role: Role, place: AttributePlace) -> &'static [&'static str] {
    match (role, place) {
        (Role::Inputs, AttributePlace::Type) => &["holds_data"],
        (Role::Inputs, AttributePlace::Field) => &[],
        (Role::Input, AttributePlace::Type) => &["holds_data", "open", "reaches", "port"],
        (Role::Input, AttributePlace::Field) => &[
            "default",
            "assumed",
            "min",
            "max",
            "min_length",
            "max_length",
            "min_items",
            "max_items",
            "pattern",
            "format",
            "one_of",
            "example",
            "replaces",
            "immutable",
            "secret",
            "reaches",
            "port",
            "holds_data",
        ],
        (Role::Outputs, AttributePlace::Type) => &["open"],
        (Role::Outputs, AttributePlace::Field) => &["secret", "write_once", "format", "one_of", "example"],
    }
}

/// Reads the attributes of a type or a field.
pub(crate) fn read(role: Role, place: AttributePlace, all: &[Attribute]) -> syn::Result<InputAttributes> {
    let mut input_attributes = InputAttributes::default();
    for attribute in all {
        let path = attribute.path();
        if path.is_ident(role.attribute()) {
            let metas = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
            for meta in metas {
                input_attributes.add(role, place, &meta)?;
            }
        } else if ["doc", "serde", "schemars"].iter().any(|name| path.is_ident(name)) {
            input_attributes.attributes.push(attribute.clone());
        }
    }
    Ok(input_attributes)
}

impl InputAttributes {
    fn add(&mut self, role: Role, place: AttributePlace, meta: &Meta) -> syn::Result<()> {
        let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
        let known = known(role, place);
        if !known.contains(&name.as_str()) {
            let message = match known {
                [] => format!("`{}` has no attributes here", role.attribute()),
                known => format!("`{name}` is unknown here; the attributes are {}", known.join(", ")),
            };
            return Err(Error::new(meta.span(), message));
        }
        let mut extend = |keyword: &str, value: TokenStream| {
            self.attributes.push(parse_quote!(#[schemars(extend(#keyword = #value))]));
        };
        let keyword = KEYWORDS.iter().chain(&MARKS).find(|(attribute, _)| *attribute == name);
        match (name.as_str(), keyword) {
            ("open", _) => {
                plain(meta)?;
                self.open = true;
            }
            ("secret", _) => {
                plain(meta)?;
                extend("writeOnly", quote!(true));
                self.secret = Some(meta.span());
            }
            ("default", _) => self.default = Some(value(meta)?.cloned()),
            ("assumed", _) => {
                extend("x-purlin-assumed", quote!(true));
                self.default = Some(value(meta)?.cloned());
            }
            ("holds_data", _) => match value(meta)? {
                Some(value) => extend("x-purlin-holds-data", quote!(#value)),
                None => extend("x-purlin-holds-data", quote!(true)),
            },
            ("example", _) => {
                let value = needed(meta, &name)?;
                extend("examples", quote!([#value]));
            }
            (_, Some((_, keyword))) if MARKS.iter().any(|(mark, _)| *mark == name) => {
                plain(meta)?;
                extend(keyword, quote!(true));
            }
            (_, Some((_, keyword))) => {
                let value = needed(meta, &name)?;
                extend(keyword, quote!(#value));
            }
            (_, None) => {}
        }
        Ok(())
    }
}

fn plain(meta: &Meta) -> syn::Result<()> {
    meta.require_path_only().map(drop)
}

/// The value of `name = value`, none for `name` alone.
fn value(meta: &Meta) -> syn::Result<Option<&Expr>> {
    match meta {
        Meta::Path(_) => Ok(None),
        Meta::NameValue(pair) => Ok(Some(&pair.value)),
        Meta::List(list) => Err(Error::new(list.span(), "write `name = value`")),
    }
}

fn needed<'a>(meta: &'a Meta, name: &str) -> syn::Result<&'a Expr> {
    value(meta)?.ok_or_else(|| Error::new(meta.span(), format!("write `{name} = …`")))
}
