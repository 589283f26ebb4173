//! The output of a derive macro: a copy of the type with the attributes of serde and schemars, to
//! whose traits the type forwards. A derive macro cannot add attributes to the type itself.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, GenericArgument, Ident, Lit,
    PathArguments, Type, parse_quote,
};

use crate::attributes::{AttributePlace, InputAttributes, read};

/// Which of the macros.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    Inputs,
    Input,
    Outputs,
}

/// The groups of inputs.
const GROUPS: [&str; 5] = ["values", "secrets", "params", "connection", "account"];

impl Role {
    /// The name of its attribute.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Inputs | Self::Input => "input",
            Self::Outputs => "output",
        }
    }
}

pub(crate) fn expand(role: Role, item: &DeriveInput) -> syn::Result<TokenStream> {
    if let Some(parameter) = item.generics.params.first() {
        return Err(Error::new_spanned(parameter, "a type with parameters cannot be described"));
    }
    let whole = read(role, AttributePlace::Type, &item.attrs)?;
    let mut copy = Copy::new(role, item, &whole);
    match &item.data {
        Data::Struct(data) if matches!(data.fields, Fields::Named(_)) => copy.fields(&data.fields)?,
        Data::Enum(data) if role == Role::Input => {
            let mut variants = Vec::new();
            for variant in &data.variants {
                let input_attributes = read(role, AttributePlace::Type, &variant.attrs)?;
                let (attributes, name) = (input_attributes.attributes, &variant.ident);
                let fields =
                    variant.fields.iter().map(|field| copy.field(field)).collect::<syn::Result<Vec<_>>>()?;
                variants.push(match &variant.fields {
                    Fields::Unit => quote!(#(#attributes)* #name),
                    Fields::Unnamed(_) => quote!(#(#attributes)* #name(#(#fields),*)),
                    Fields::Named(_) => quote!(#(#attributes)* #name { #(#fields),* }),
                });
            }
            copy.body = quote!(enum __Copy { #(#variants),* });
        }
        _ => {
            let needed = match role {
                Role::Input => "this has to be a struct with named fields, or an enum",
                Role::Inputs | Role::Outputs => "this has to be a struct with named fields",
            };
            return Err(Error::new_spanned(&item.ident, needed));
        }
    }
    Ok(copy.written())
}

/// The copy so far.
struct Copy<'a> {
    role: Role,
    name: &'a Ident,
    attributes: Vec<Attribute>,
    body: TokenStream,
    /// Functions that return defaults.
    defaults: Vec<TokenStream>,
    /// Names of secret outputs.
    secrets: Vec<String>,
    /// Whether there may be names that the type does not have.
    open: bool,
    /// Whether it is a struct.
    has_names: bool,
}

impl<'a> Copy<'a> {
    fn new(role: Role, item: &'a DeriveInput, whole: &InputAttributes) -> Self {
        // The host passes every group, even those that a driver does not read.
        let open = role == Role::Inputs || whole.open || whole.has_serde_word("deny_unknown_fields");
        Self {
            role,
            name: &item.ident,
            attributes: whole.attributes.clone(),
            body: TokenStream::new(),
            defaults: Vec::new(),
            secrets: Vec::new(),
            open,
            has_names: matches!(item.data, Data::Struct(_)),
        }
    }

    fn fields(&mut self, fields: &Fields) -> syn::Result<()> {
        let mut all = Vec::new();
        for field in fields {
            let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            if self.role == Role::Inputs && !GROUPS.contains(&name.as_str()) {
                let message =
                    format!("`{name}` is not a group of inputs; the groups are {}", GROUPS.join(", "));
                return Err(Error::new_spanned(field, message));
            }
            all.push(self.field(field)?);
        }
        self.body = quote!(struct __Copy { #(#all),* });
        if !self.open {
            self.attributes.push(match self.role {
                Role::Inputs | Role::Input => parse_quote!(#[serde(deny_unknown_fields)]),
                // The host then rejects references to other outputs before it calls the driver.
                Role::Outputs => parse_quote!(#[schemars(extend("additionalProperties" = false))]),
            });
        }
        Ok(())
    }

    fn field(&mut self, field: &Field) -> syn::Result<TokenStream> {
        let input_attributes = read(self.role, AttributePlace::Field, &field.attrs)?;
        self.open |= input_attributes.has_serde_word("flatten");
        let (mut attributes, of) = (input_attributes.attributes.clone(), &field.ty);
        if let Some(default) = &input_attributes.default {
            let function = format_ident!("default_{}", self.defaults.len());
            let path = function.to_string();
            attributes.push(parse_quote!(#[serde(default = #path)]));
            let value = match default {
                Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => {
                    quote!(::core::convert::From::from(#text))
                }
                Some(value) => quote!(#value),
                None => quote!(<#of as ::core::default::Default>::default()),
            };
            // A schema can only contain a default that can be serialised.
            self.defaults.push(quote! {
                fn #function() -> #of { ::purlin_sdk::described::writable::<#of>(#value) }
            });
        }
        if self.role == Role::Outputs {
            if let Some(within) = within_option(of) {
                let within = quote!(#within).to_string();
                attributes
                    .push(parse_quote!(#[serde(skip_serializing_if = "::core::option::Option::is_none")]));
                attributes.push(parse_quote!(#[schemars(with = #within)]));
            }
            if let (Some(span), Some(name)) = (input_attributes.secret, &field.ident) {
                if ["rename", "flatten"].iter().any(|word| input_attributes.has_serde_word(word)) {
                    return Err(Error::new(span, "a secret output has the name of its field"));
                }
                self.secrets.push(name.to_string().trim_start_matches("r#").to_owned());
            }
        }
        Ok(match &field.ident {
            Some(name) => quote!(#(#attributes)* #name: #of),
            None => quote!(#(#attributes)* #of),
        })
    }

    fn written(self) -> TokenStream {
        let Self { role, name, attributes, body, defaults, secrets, has_names, .. } = self;
        // A list has no names, although serde would read a struct from one.
        let read = match has_names {
            true => quote! {
                struct __Map;
                impl<'de> serde::de::Visitor<'de> for __Map {
                    type Value = #name;
                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str("a map")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        map: A,
                    ) -> ::core::result::Result<#name, A::Error> {
                        __Copy::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }
                }
                from.deserialize_map(__Map)
            },
            false => quote!(__Copy::deserialize(from)),
        };
        let remote = name.to_string();
        let (derived, forwarded) = match role {
            Role::Inputs | Role::Input => (
                quote!(Deserialize),
                quote! {
                    impl<'de> serde::Deserialize<'de> for #name {
                        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> ::core::result::Result<Self, D::Error> {
                            #read
                        }
                    }
                },
            ),
            Role::Outputs => (
                quote!(Serialize),
                quote! {
                    impl serde::Serialize for #name {
                        fn serialize<S: serde::Serializer>(&self, to: S) -> ::core::result::Result<S::Ok, S::Error> {
                            __Copy::serialize(self, to)
                        }
                    }
                },
            ),
        };
        let described = match role {
            Role::Inputs => quote!(impl ::purlin_sdk::described::DescribedInputs for #name {}),
            Role::Input => TokenStream::new(),
            Role::Outputs => quote! {
                impl ::purlin_sdk::described::DescribedOutputs for #name {
                    const SECRETS: &'static [&'static str] = &[#(#secrets),*];
                }
            },
        };
        quote! {
            const _: () = {
                use ::purlin_sdk::described::{schemars, serde};
                #(#defaults)*
                #[derive(serde::#derived, schemars::JsonSchema)]
                #[serde(crate = "::purlin_sdk::described::serde", remote = #remote)]
                #[schemars(crate = "::purlin_sdk::described::schemars")]
                #(#attributes)*
                #[allow(dead_code, missing_docs)]
                #body
                #forwarded
                impl schemars::JsonSchema for #name {
                    fn schema_name() -> ::std::borrow::Cow<'static, str> {
                        #remote.into()
                    }
                    fn schema_id() -> ::std::borrow::Cow<'static, str> {
                        ::core::concat!(::core::module_path!(), "::", #remote).into()
                    }
                    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                        <__Copy as schemars::JsonSchema>::json_schema(generator)
                    }
                }
                #described
            };
        }
    }
}

/// The `T` of `Option<T>`.
fn within_option(of: &Type) -> Option<&Type> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(within) => Some(within),
        _ => None,
    }
}
