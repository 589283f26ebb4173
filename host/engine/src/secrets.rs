//! Secrets by reference: leaves `{value}` or `{store, ref, version}` (SPEC §3).

use purlin_model::{Diagnostic, Location, Map, Value};

/// Turns a tree of references into the secrets themselves.
///
/// # Errors
/// For each leaf whose store is not there. Secret stores are the operator's to configure; this
/// version knows none.
pub(crate) fn resolve(refs: &Value, location: &Location) -> Result<Value, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let resolved = walk(refs, "", location, &mut errors);
    if errors.is_empty() { Ok(resolved) } else { Err(errors) }
}

fn walk(refs: &Value, path: &str, location: &Location, errors: &mut Vec<Diagnostic>) -> Value {
    let Some(map) = refs.as_map() else {
        errors.push(
            Diagnostic::error(
                "secret-ref",
                format!("`secret_refs{path}` is {}, not a reference", refs.kind()),
            )
            .at(location)
            .help("write `{store: NAME, ref: PATH}` or `{value: TEXT}`"),
        );
        return Value::Null;
    };
    if let Some(value) = map.get("value").filter(|_| is_leaf(map, &["value"])) {
        return value.clone().into_secret();
    }
    if map.contains_key("ref") && is_leaf(map, &["store", "ref", "version"]) {
        let store = map.get("store").and_then(Value::as_str).unwrap_or("");
        errors.push(
            Diagnostic::error(
                "secret-store",
                format!("`secret_refs{path}` reads the secret store `{store}`, which is not configured"),
            )
            .at(location)
            .help("this version reads no secret stores; give the secret as `{value: …}` or under `secrets`"),
        );
        return Value::Null;
    }
    Value::Map(
        map.iter()
            .map(|(key, below)| (key.clone(), walk(below, &format!("{path}.{key}"), location, errors)))
            .collect::<Map>(),
    )
}

fn is_leaf(map: &Map, fields: &[&str]) -> bool {
    map.keys().all(|key| fields.contains(&&**key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_secrets_and_stores_are_named() {
        let at = Location::new("d.yaml", 3, 1);
        let refs = json!({"db": {"password": {"value": "p"}}, "user": {"value": "u"}}).into();
        let resolved = resolve(&refs, &at).expect("values only");
        assert_eq!(
            resolved.get("db").and_then(|db| db.get("password")),
            Some(Value::from("p").into_secret())
        );
        let refs = json!({"a": {"store": "vault", "ref": "x"}, "b": {"store": "gsm", "ref": "y", "version": "1"}, "c": 1});
        let errors = resolve(&refs.into(), &at).expect_err("no stores");
        assert_eq!(errors.len(), 3);
        assert!(errors[0].message.contains("secret_refs.a") && errors[0].message.contains("vault"));
    }
}
