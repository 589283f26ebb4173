//! Which parts of a driver's results are secret, according to the driver.
//!
//! The contract has a place for outputs that are secret as a whole, and none for parts of outputs and
//! of manifests. A driver names those in the secret output `$sensitive`: a list of JSON Pointers
//! into `{"outputs":…,"manifests":{NAME: data}}`.

use std::collections::HashMap;

use purlin_model::driver::ManifestFile;
use purlin_model::{Map, Value};

/// The secret output that names places.
const NAME: &str = "$sensitive";

/// Removes the places from a driver's secret outputs.
///
/// # Errors
/// If they are not a list of texts.
pub(crate) fn take(secrets: &mut Map) -> Result<Vec<String>, &'static str> {
    let wrong = "its secret output `$sensitive` is not a list of JSON Pointers";
    match secrets.remove(NAME) {
        None => Ok(Vec::new()),
        Some(Value::List(places)) => places
            .into_iter()
            .map(|place| match place {
                Value::String(text) if text.is_empty() || text.starts_with('/') => Ok(text.to_string()),
                _ => Err(wrong),
            })
            .collect(),
        Some(_) => Err(wrong),
    }
}

/// Makes the places secret. If there is no such place, its parent becomes secret.
pub(crate) fn hide(places: &[String], outputs: &mut Value, manifests: &mut [ManifestFile]) {
    // There can be many places and many manifests; each is visited once.
    let numbers: HashMap<&str, usize> =
        manifests.iter().enumerate().map(|(number, file)| (file.name.expose(), number)).collect();
    let (mut all, mut all_manifests, mut in_manifests) = (false, false, Vec::new());
    for place in places {
        let mut segments = place.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
        match segments.next().as_deref() {
            Some("outputs") => at(outputs, &mut segments),
            Some("manifests") => match segments.next() {
                Some(name) => in_manifests.extend(numbers.get(&*name).map(|number| (*number, segments))),
                None => all_manifests = true,
            },
            _ => all = true,
        }
    }
    for (number, mut segments) in in_manifests {
        if let Some(file) = manifests.get_mut(number) {
            at(&mut file.data, &mut segments);
        }
    }
    let none = || std::iter::empty();
    if all {
        at(outputs, &mut none());
    }
    if all || all_manifests {
        manifests.iter_mut().for_each(|file| at(&mut file.data, &mut none()));
    }
}

fn at(value: &mut Value, segments: &mut dyn Iterator<Item = String>) {
    let next = segments.next();
    let below = match (&mut *value, next.as_deref()) {
        (Value::Map(map), Some(name)) => map.get_mut(name),
        (Value::List(items), Some(index)) => {
            index.parse::<usize>().ok().and_then(|index| items.get_mut(index))
        }
        _ => None,
    };
    match below {
        Some(below) => at(below, segments),
        None => *value = std::mem::take(value).into_secret(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_places_that_a_driver_names_are_secret() {
        let Value::Map(mut secrets) = Value::from(json!({
            "$sensitive": ["/outputs/db/a~1b", "/outputs/l/1", "/manifests/x.yaml/data/p", "/outputs/m/no/where"], "s": 1,
        })) else {
            unreachable!()
        };
        let places = take(&mut secrets).expect("pointers");
        assert_eq!(secrets.len(), 1);
        let mut outputs = Value::from(json!({"db": {"a/b": 1, "h": 2}, "l": [1, 2], "m": {"x": 1}, "o": 3}));
        let file = |name: &str| ManifestFile {
            name: name.into(),
            location: "l".into(),
            data: json!({"data": {"p": 1, "q": 2}}).into(),
        };
        let mut manifests = [file("x.yaml"), file("y.yaml")];
        hide(&places, &mut outputs, &mut manifests);
        assert_eq!(
            outputs.redact(),
            json!({"db": {"a/b": "[secret]", "h": 2}, "l": [1, "[secret]"], "m": "[secret]", "o": 3})
        );
        assert_eq!(manifests[0].data.redact(), json!({"data": {"p": "[secret]", "q": 2}}));
        assert!(!manifests[1].data.has_secret());
        for wrong in [
            json!({"$sensitive": "/outputs"}),
            json!({"$sensitive": [1]}),
            json!({"$sensitive": ["outputs"]}),
        ] {
            let Value::Map(mut secrets) = Value::from(wrong) else { unreachable!() };
            assert!(take(&mut secrets).is_err());
        }
    }
}
