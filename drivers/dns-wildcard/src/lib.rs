//! The built-in driver purlin/dns-wildcard: a name below a domain that a wildcard record serves.

mod entropy;

use std::sync::Arc;

use purlin_go_template::Engine;
use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Faults, Forecast, Impact,
    ImpactRequest, Input, Inputs, Outputs, Preview, PreviewRequest, State, TypeSchema, Update, UpdateImpact,
    UpdateRequest,
};
use serde_json::json;

/// A name below a domain that a wildcard record serves.
pub struct DnsWildcard;

/// The inputs of the driver.
#[derive(Inputs)]
pub struct WildcardInputs {
    values: Values,
}

#[derive(Input)]
struct Values {
    /// The domain with the wildcard record. A leading `*.` is removed.
    domain: String,
    /// The part before the domain: text, or a Go template with Sprig's functions except those for
    /// regular expressions, YAML and digests. `.id` is the `guresid`. By default, the first 12
    /// digits of the `guresid`.
    template: Option<String>,
}

/// The outputs.
#[derive(Outputs)]
struct WildcardOutputs {
    /// The full name, in lower case.
    host: String,
}

impl Driver for DnsWildcard {
    const NAME: &str = "purlin/dns-wildcard";
    const DESCRIPTION: &str = "A name below a domain that a wildcard record serves.";
    /// It creates nothing outside itself.
    const REPEAT_CREATE: bool = true;
    type Inputs = WildcardInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<WildcardInputs, WildcardOutputs>("dns")]
    }

    fn create(request: CreateRequest<WildcardInputs>) -> Result<State, Failure> {
        make(&request.subject.guresid, &request.subject.guresid, &request.inputs.values)
    }

    fn delete(_: DeleteRequest<WildcardInputs>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Check for DnsWildcard {
    fn check(request: CheckRequest<WildcardInputs>) -> Result<Checked, Failure> {
        if let Some(inputs) = request.inputs.known()? {
            host(&request.subject.guresid, &inputs.values)?;
        }
        Ok(Checked::unchanged(request.inputs))
    }
}

impl Update for DnsWildcard {
    fn update(request: UpdateRequest<WildcardInputs>) -> Result<State, Failure> {
        make(&request.state.id, &request.subject.guresid, &request.after.values)
    }
}

impl UpdateImpact for DnsWildcard {
    fn update_impact(request: ImpactRequest<WildcardInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact::default();
        if let Some(inputs) = request.after.known()?
            && request.state.outputs.get("host")
                == Some(&host(&request.subject.guresid, &inputs.values)?.into())
        {
            impact.keep(&request.state, ["host"]);
        }
        Ok(impact)
    }
}

// ANCHOR: preview
/// The name follows from the inputs.
impl Preview for DnsWildcard {
    fn preview(request: PreviewRequest<WildcardInputs>) -> Result<Forecast, Failure> {
        let Some(inputs) = request.after() else { return Ok(Forecast::default()) };
        match inputs.known()? {
            Some(inputs) => Forecast::default().described_outputs(&WildcardOutputs {
                host: host(&request.subject.guresid, &inputs.values)?,
            }),
            None => Ok(Forecast::default()),
        }
    }
}

purlin_sdk::export!(DnsWildcard with preview);
// ANCHOR_END: preview

fn make(id: &str, guresid: &str, values: &Values) -> Result<State, Failure> {
    State::new(id).described_outputs(&WildcardOutputs { host: host(guresid, values)? })
}

const DOMAIN: &str = "/values/domain";
const TEMPLATE: &str = "/values/template";

fn host(guresid: &str, values: &Values) -> Result<String, Failure> {
    let mut faults = Faults::default();
    let domain = values.domain.trim().trim_start_matches("*.").trim_matches('.').to_ascii_lowercase();
    if let Err(message) = valid(&domain) {
        faults.add(DOMAIN, message);
    }
    let before = match values.template.as_deref().map(str::trim).filter(|template| !template.is_empty()) {
        Some(template) => faults.take(rendered(guresid, template))?.unwrap_or_default(),
        None => guresid.chars().take(12).collect(),
    };
    let host = format!("{before}.{domain}");
    if faults.is_empty()
        && let Err(message) = valid(&host)
    {
        faults.add(TEMPLATE, message);
    }
    faults.into_result()?;
    Ok(host)
}

/// Renders the template. Random parts derive from the resource's own id, so that a name never
/// changes.
fn rendered(guresid: &str, template: &str) -> Result<String, Failure> {
    let engine = Engine::new(Arc::new(entropy::Seeded::new(guresid)));
    let parsed = engine.parse(template).map_err(|faults| {
        let text: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Failure::input(TEMPLATE, text.join("; "))
    })?;
    let data = json!({"id": guresid, "guresid": guresid});
    let text = engine.render(&parsed, &data).map_err(|fault| Failure::input(TEMPLATE, fault.to_string()))?;
    Ok(text.trim().to_ascii_lowercase())
}

/// Whether a text is a valid DNS host name.
fn valid(name: &str) -> Result<(), String> {
    if name.len() > 253 {
        return Err(format!("`{name}` is {} characters long; a name has 253 at most", name.len()));
    }
    for label in name.split('.') {
        let letters = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
        let fault = if label.is_empty() {
            "it has an empty part".to_owned()
        } else if label.len() > 63 {
            format!("`{label}` is {} characters long; a part has 63 at most", label.len())
        } else if !label.bytes().all(letters) || label.starts_with('-') || label.ends_with('-') {
            format!("`{label}` has to be letters, digits and `-`, which may not begin or end it")
        } else {
            continue;
        };
        return Err(format!("`{name}` is not a host name: {fault}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use purlin_sdk::{Json, testing};

    fn made(values: Json) -> Result<String, String> {
        let inputs = testing::inputs(&json!({"values": values}));
        testing::check::<DnsWildcard>(inputs.clone(), None).map_err(|failure| failure.to_string())?;
        let state = testing::create::<DnsWildcard>(inputs).map_err(|failure| failure.to_string())?;
        Ok(state.outputs["host"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn without_a_template_the_name_comes_from_the_guresid() {
        assert_eq!(made(json!({"domain": "*.apps.example."})).as_deref(), Ok("0123456789ab.apps.example"));
    }

    #[test]
    fn a_template_makes_the_name() {
        let template = r#"{{ index (splitList "." "modules.Web.externals.dns") 1 }}-dev-shop"#;
        assert_eq!(made(json!({"domain": "x.io", "template": template})).as_deref(), Ok("web-dev-shop.x.io"));
        assert_eq!(made(json!({"domain": "x.io", "template": "a.b"})).as_deref(), Ok("a.b.x.io"));
    }

    #[test]
    fn a_random_name_stays() {
        let values = json!({"domain": "x.io", "template": "shop-{{ randAlphaNum 8 | lower }}"});
        let first = made(values.clone()).expect("made");
        assert_eq!(first.len(), "shop-12345678.x.io".len());
        assert_eq!(made(values.clone()), Ok(first.clone()));
        let before = testing::inputs(&json!({"values": values}));
        let state = testing::create::<DnsWildcard>(before.clone()).expect("made");
        let same = testing::inputs(&json!({"values": {"domain": "X.io", "template": values["template"]}}));
        let impact = testing::update_impact::<DnsWildcard>(before.clone(), same, &state).expect("an impact");
        assert_eq!((impact.replaces.len(), &*impact.stable_outputs), (0, &["/outputs/host".to_owned()][..]));
        let unknown =
            testing::unknown(testing::inputs(&json!({"values": {"domain": null}})), &["/values/domain"]);
        let impact = testing::update_impact::<DnsWildcard>(before, unknown, &state).expect("an impact");
        assert!(impact.stable_outputs.is_empty());
    }

    #[test]
    fn the_name_is_certain_once_the_inputs_are_known() {
        let given = testing::inputs(&json!({"values": {"domain": "x.io", "template": "a"}}));
        let forecast = testing::preview::<DnsWildcard>(given.clone()).expect("a forecast");
        assert_eq!(forecast.outputs["host"], "a.x.io");
        let state = testing::create::<DnsWildcard>(given.clone()).expect("made");
        assert_eq!(forecast.outputs, state.outputs);
        let after = testing::inputs(&json!({"values": {"domain": "y.io", "template": "a"}}));
        let forecast =
            testing::preview_update::<DnsWildcard>(given.clone(), after, &state).expect("a forecast");
        assert_eq!(forecast.outputs["host"], "a.y.io");
        let unknown = testing::unknown(given, &["/values/template"]);
        let forecast = testing::preview::<DnsWildcard>(unknown).expect("a forecast");
        assert!(forecast.outputs.is_empty());
    }

    #[test]
    fn invalid_names_are_rejected() {
        let cases = [
            (json!({"domain": "x.io", "template": "a_b"}), "/values/template: `a_b.x.io` is not a host name"),
            (json!({"domain": "-x.io"}), "/values/domain: `-x.io` is not a host name"),
            (json!({"domain": ""}), "/values/domain"),
            (
                json!({"domain": "x.io", "template": "{{ nope }}"}),
                "/values/template: line 1: there is no function `nope`",
            ),
            (json!({"domain": "x.io", "template": "a".repeat(64)}), "64 characters long; a part has 63"),
            (json!({"template": "a"}), "missing field `domain`"),
        ];
        for (values, wanted) in cases {
            let message = made(values.clone()).expect_err("refused");
            assert!(message.contains(wanted), "{values}: {message}");
        }
    }

    #[test]
    fn the_readme_has_the_tables_of_the_schema() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        testing::check_readme::<DnsWildcard>(readme).expect("the README agrees");
    }
}
