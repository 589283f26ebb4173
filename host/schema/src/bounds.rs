//! Limits for the size of a schema. Handwritten schemas are far below them.

use serde_json::Value as Json;

/// The maximum nesting of a schema.
const DEEPEST: usize = 96;
/// How many values a schema may consist of.
const MOST_VALUES: usize = 100_000;
/// How much text a schema may hold.
const MOST_TEXT: usize = 2 << 20;

/// Why a schema is too large, if it is.
pub(crate) fn exceeded(schema: &Json) -> Option<&'static str> {
    let (mut values, mut text) = (0usize, 0usize);
    // Without recursion, because the depth is what it measures.
    let mut open = vec![(schema, 0usize)];
    while let Some((one, depth)) = open.pop() {
        values += 1;
        if depth > DEEPEST {
            return Some("it nests more than 96 levels deep");
        }
        match one {
            Json::String(own) => text += own.len(),
            Json::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(map) => {
                text += map.keys().map(String::len).sum::<usize>();
                open.extend(map.values().map(|item| (item, depth + 1)));
            }
            _ => {}
        }
        if values + open.len() > MOST_VALUES {
            return Some("it has more than 100000 values");
        }
        if text > MOST_TEXT {
            return Some("it is larger than 2 MiB");
        }
    }
    None
}
