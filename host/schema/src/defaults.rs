//! Fills in the defaults of a schema.

use std::sync::Arc;

use purlin_model::Value;
use serde_json::Value as Json;

use crate::compile::Schema;

/// The maximum depth for defaults.
const DEEPEST: usize = 32;

impl Schema {
    /// Fills in omitted entries that have a `default`, in existing maps, also in lists, at a path
    /// of the whole. Only schemas that always apply are used: `properties`, `$ref` and `allOf`, not
    /// one of several forms. `wanted` is called with the JSON Pointer of each, from the path on.
    pub fn fill(&self, path: &[&str], value: &mut Value, wanted: &dyn Fn(&str) -> bool) {
        let mut rules = vec![&self.root];
        for segment in path {
            rules =
                self.certain(&rules).iter().filter_map(|one| one.get("properties")?.get(segment)).collect();
        }
        self.filled(&rules, value, &mut String::new(), wanted, 0);
    }

    fn filled(
        &self,
        rules: &[&Json],
        value: &mut Value,
        at: &mut String,
        wanted: &dyn Fn(&str) -> bool,
        depth: usize,
    ) {
        if rules.is_empty() || depth > DEEPEST {
            return;
        }
        if let Value::List(items) = value {
            let rules: Vec<&Json> = self.certain(rules).iter().filter_map(|one| one.get("items")).collect();
            for (index, item) in items.iter_mut().enumerate() {
                let length = at.len();
                at.push_str(&format!("/{index}"));
                self.filled(&rules, item, at, wanted, depth + 1);
                at.truncate(length);
            }
        }
        let Value::Map(map) = value else { return };
        for one in self.certain(rules) {
            for (name, schema) in one.get("properties").and_then(Json::as_object).into_iter().flatten() {
                let length = at.len();
                at.push('/');
                at.push_str(&crate::compile::escaped(name));
                match map.get_mut(name.as_str()) {
                    Some(below) => self.filled(&[schema], below, at, wanted, depth + 1),
                    None => {
                        let default = self.certain(&[schema]).into_iter().find_map(|one| one.get("default"));
                        if let Some(default) = default.filter(|_| wanted(at)) {
                            map.insert(Arc::from(name.as_str()), Value::from(default.clone()));
                        }
                    }
                }
                at.truncate(length);
            }
        }
    }

    /// All schemas that apply to the same value in any case.
    fn certain<'s>(&'s self, rules: &[&'s Json]) -> Vec<&'s Json> {
        let mut all: Vec<&Json> = Vec::new();
        let mut open: Vec<&Json> = rules.to_vec();
        while let Some(one) = open.pop() {
            if all.iter().any(|known| std::ptr::eq(*known, one)) {
                continue;
            }
            all.push(one);
            let target = one.get("$ref").and_then(Json::as_str).and_then(|target| self.follow(target));
            open.extend(target.map(|(_, target)| target));
            open.extend(one.get("allOf").and_then(Json::as_array).into_iter().flatten());
        }
        all
    }
}
