//! Which places of a driver's results are secret or unknown, according to the driver.

use std::collections::HashMap;

use purlin_model::Value;
use purlin_model::driver::ManifestFile;

/// Makes places in `{"outputs":…,"manifests":{NAME: data}}` secret. If there is no such place, its parent
/// becomes secret.
pub(crate) fn hide(places: &[String], outputs: &mut Value, manifests: &mut [ManifestFile]) {
    // There can be many places and many manifests; each is visited once.
    let numbers: HashMap<&str, usize> =
        manifests.iter().enumerate().map(|(number, file)| (file.name.expose(), number)).collect();
    let (mut all, mut all_manifests, mut in_manifests) = (false, false, Vec::new());
    let secret = |value: &mut Value| *value = std::mem::take(value).into_secret();
    for place in places {
        let mut segments = segments(place);
        match segments.next().as_deref() {
            Some("outputs") => at(outputs, &mut segments, secret),
            Some("manifests") => match segments.next().and_then(|name| numbers.get(&*name)) {
                Some(number) => in_manifests.push((*number, segments)),
                None => all_manifests = true,
            },
            _ => all = true,
        }
    }
    for (number, mut segments) in in_manifests {
        if let Some(file) = manifests.get_mut(number) {
            at(&mut file.data, &mut segments, secret);
        }
    }
    let none = || std::iter::empty();
    if all {
        at(outputs, &mut none(), secret);
    }
    if all || all_manifests {
        manifests.iter_mut().for_each(|file| at(&mut file.data, &mut none(), secret));
    }
}

/// Marks places in a document. If there is no such place, its parent is marked.
pub(crate) fn mark(places: &[String], document: &mut Value, mark: impl Fn(&mut Value) + Copy) {
    places.iter().for_each(|place| at(document, &mut segments(place), mark));
}

fn segments(place: &str) -> impl Iterator<Item = String> + '_ {
    place.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"))
}

fn at(value: &mut Value, segments: &mut dyn Iterator<Item = String>, mark: impl Fn(&mut Value) + Copy) {
    let next = segments.next();
    let below = match (&mut *value, next.as_deref()) {
        (Value::Map(map), Some(name)) => map.get_mut(name),
        (Value::List(items), Some(index)) => {
            index.parse::<usize>().ok().and_then(|index| items.get_mut(index))
        }
        _ => None,
    };
    match below {
        Some(below) => at(below, segments, mark),
        None => mark(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_places_that_a_driver_names_are_secret() {
        let places = ["/outputs/db/a~1b", "/outputs/l/1", "/manifests/x.yaml/data/p", "/outputs/m/no/where"];
        let mut outputs = Value::from(json!({"db": {"a/b": 1, "h": 2}, "l": [1, 2], "m": {"x": 1}, "o": 3}));
        let file = |name: &str| ManifestFile {
            name: name.into(),
            location: "l".into(),
            data: json!({"data": {"p": 1, "q": 2}}).into(),
        };
        let mut manifests = [file("x.yaml"), file("y.yaml")];
        hide(&places.map(str::to_owned), &mut outputs, &mut manifests);
        assert_eq!(
            outputs.redact(),
            json!({"db": {"a/b": "[secret]", "h": 2}, "l": [1, "[secret]"], "m": "[secret]", "o": 3})
        );
        assert_eq!(manifests[0].data.redact(), json!({"data": {"p": "[secret]", "q": 2}}));
        assert!(!manifests[1].data.has_secret());
        hide(&["/manifests/z.yaml/data".to_owned()], &mut outputs, &mut manifests);
        assert!(matches!(outputs, Value::Map(_)) && matches!(manifests[1].data, Value::Secret(_)));
        hide(&["elsewhere".to_owned()], &mut outputs, &mut manifests);
        assert!(matches!(outputs, Value::Secret(_)));
    }
}
