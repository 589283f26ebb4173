//! "Did you mean": the known name that an unknown one most likely misspells.

/// The candidate nearest to `name`, if any is near enough to be a misspelling, and never `name`
/// itself. Case is ignored; of equally near ones the first in the alphabet is taken. Candidates are
/// only names that can stand where `name` does.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    // About one mistake in three letters; longer names are not worth the quadratic time.
    let allowed = (wanted.chars().count() / 3).clamp(1, 6);
    if wanted.len() > 256 {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 256 && *candidate != name)
        .filter_map(|candidate| {
            let distance = strsim::osa_distance(&wanted, &candidate.to_lowercase());
            (distance <= allowed).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Whether one edit turns one into the other: a letter missing, added, replaced or swapped with its
/// neighbour. Case is ignored.
pub fn one_edit(a: &str, b: &str) -> bool {
    let short = a.len() <= 256 && b.len() <= 256;
    short && strsim::osa_distance(&a.to_lowercase(), &b.to_lowercase()) <= 1
}

/// Whether `name` most likely misspells `known`, and is not a separate name: they differ in one
/// letter, or in case. `dev1` and `dev2` are two names.
pub fn is_slip(name: &str, known: &str) -> bool {
    let letters = |text: &str| text.to_lowercase().replace(|c: char| c.is_ascii_digit(), "");
    name != known
        && one_edit(name, known)
        && (letters(name) != letters(known) || name.eq_ignore_ascii_case(known))
}

/// The help for an unknown name: the nearest of the known ones, or a few of them. `what` names
/// their kind in the plural, such as `outputs`. Empty if no name is known: then there is no help.
pub fn did_you_mean<'a>(name: &str, what: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let mut known: Vec<&str> = candidates.into_iter().collect();
    if let Some(near) = nearest(name, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    known.sort_unstable();
    known.dedup();
    if known.is_empty() {
        return String::new();
    }
    let more = known.len().saturating_sub(SHOWN);
    if more > 0 && name.len() <= 256 {
        // The most similar ones are the last to be omitted.
        let wanted = name.to_lowercase();
        known.sort_by_cached_key(|known| strsim::osa_distance(&wanted, &known.to_lowercase()));
        known.truncate(SHOWN);
        known.sort_unstable();
    }
    let list = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match more {
        0 => format!("the {what} are {list}"),
        more => format!("the {what} are {list} and {more} more"),
    }
}

/// The help for a missing name: the nearest one, if there is one, and what to do otherwise.
pub fn or_near(near: Option<&str>, otherwise: &str) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`? Otherwise {otherwise}"),
        None => otherwise.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["host", "port", "username", "password"];
        assert_eq!(nearest("hots", names), Some("host"));
        assert_eq!(nearest("Port", names), Some("port"));
        assert_eq!(nearest("user_name", names), Some("username"));
        assert_eq!(nearest("connection", names), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest("port", ["port", "Port"]), Some("Port"));
        assert_eq!(nearest("port", ["port"]), None);
    }

    #[test]
    fn a_slip_is_one_letter_and_a_number_is_a_name() {
        for (name, known, slip) in [
            ("dve", "dev", true),
            ("Dev", "dev", true),
            ("prodd", "prod", true),
            ("dev", "dev", false),
            ("dev2", "dev1", false),
            ("pr-12", "pr-1", false),
            ("staging-us", "staging-eu", false),
        ] {
            assert_eq!(is_slip(name, known), slip, "{name} {known}");
        }
    }

    #[test]
    fn help_lists_the_valid_names() {
        assert_eq!(did_you_mean("hots", "outputs", ["port", "host"]), "did you mean `host`?");
        assert_eq!(did_you_mean("zzz", "outputs", ["port", "host"]), "the outputs are `host`, `port`");
        assert_eq!(did_you_mean("zzz", "outputs", []), "");
        let many: Vec<String> =
            (0..40).map(|n| format!("a_long_name_{n}")).chain(["zebra".to_owned()]).collect();
        let help = did_you_mean("zbr---", "outputs", many.iter().map(String::as_str));
        assert!(help.contains("`zebra`") && help.ends_with("and 29 more"), "{help}");
    }
}
