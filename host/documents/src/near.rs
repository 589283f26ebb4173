//! Near misses: names that are most likely a slip for a known one. Stricter than "did you mean",
//! since what is found here turns a remark into an error.

/// The known name that `name` is a slip for: the same but for case, `_` and `-`, or one letter
/// missing, added, replaced or swapped with its neighbour.
pub(crate) fn slip<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut found = None;
    for candidate in known {
        if candidate == name {
            return None;
        }
        if found.is_none() && (plain(candidate) == plain(name) || one_edit(name, candidate)) {
            found = Some(candidate);
        }
    }
    found
}

fn plain(name: &str) -> String {
    name.replace(['_', '-'], "").to_ascii_lowercase()
}

/// Whether one edit makes one of the other, upper and lower case being equal.
fn one_edit(a: &str, b: &str) -> bool {
    let letters = |text: &str| text.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<char>>();
    if a.len() > 64 || b.len() > 64 {
        return false;
    }
    let (a, b) = (letters(a), letters(b));
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let same = short.iter().zip(&long).take_while(|(a, b)| a == b).count();
    let rest = |letters: &[char], from: usize| letters.get(from..).unwrap_or_default().to_vec();
    match long.len() - short.len() {
        0 => {
            let swapped = short.get(same) == long.get(same + 1)
                && short.get(same + 1) == long.get(same)
                && rest(&short, same + 2) == rest(&long, same + 2);
            rest(&short, same + 1) == rest(&long, same + 1) || swapped
        }
        1 => rest(&short, same) == rest(&long, same + 1),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_is_a_slip_and_two_are_another_name() {
        let known = ["criteria", "provision", "modules", "app_id", "apiVersion"];
        for (name, found) in [
            ("criterea", Some("criteria")),
            ("provison", Some("provision")),
            ("module", Some("modules")),
            ("Modules", Some("modules")),
            ("appId", Some("app_id")),
            ("apiVerison", Some("apiVersion")),
            ("criteria", None),
            ("models", None),
            ("provided", None),
            ("", None),
        ] {
            assert_eq!(slip(name, known), found, "{name}");
        }
    }
}
