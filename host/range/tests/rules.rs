//! Tests of matches and of errors, with cases and with properties.
#![allow(clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use purlin_range::{Range, lenient};
use semver::Version;

fn range(text: &str) -> Range {
    Range::parse(text).unwrap_or_else(|fault| panic!("`{text}`: {fault}"))
}

fn version(text: &str) -> Version {
    Version::parse(text).expect("a version")
}

#[track_caller]
fn check(text: &str, inside: &[&str], outside: &[&str]) {
    let range = range(text);
    for (versions, expected) in [(inside, true), (outside, false)] {
        for each in versions {
            assert_eq!(range.matches(&version(each)), expected, "`{text}` and {each}");
        }
    }
}

#[test]
fn parts_that_are_left_out_are_any() {
    check("1.2.3", &["1.2.3", "1.2.3+build"], &["1.2.4", "1.2.3-a"]);
    check("1.2", &["1.2.0", "1.2.9"], &["1.3.0", "1.1.9"]);
    check("v1.x", &["1.0.0", "1.9.9"], &["2.0.0", "0.9.0"]);
    for any in ["*", "", "x", "X.x.X", ">=*", "^*", "~*", "=x"] {
        check(any, &["0.0.0", "0.1.0", "7.8.9"], &["1.0.0-rc.1"]);
    }
    check("!=1.2", &["1.1.9", "1.3.0"], &["1.2.0", "1.2.7"]);
    check("!=1", &["0.9.0", "2.0.0"], &["1.0.0", "1.5.0"]);
    check(">1.2", &["1.3.0", "2.0.0"], &["1.2.0", "1.2.9"]);
    check("<=1.2", &["1.2.9", "0.1.0"], &["1.3.0"]);
    check("<1.2", &["1.1.9"], &["1.2.0"]);
}

#[test]
fn a_caret_keeps_the_leftmost_part_that_is_not_zero() {
    check("^1.2.3", &["1.2.3", "1.9.0"], &["1.2.2", "2.0.0"]);
    check("^0.2.3", &["0.2.3", "0.2.9"], &["0.3.0", "0.2.2", "1.2.3"]);
    check("^0.0.3", &["0.0.3"], &["0.0.4", "0.1.3", "1.0.3"]);
    check("^0.0", &["0.0.0", "0.0.9"], &["0.1.0"]);
    check("^0", &["0.0.1", "0.9.0"], &["1.0.0"]);
    check("~1.2.3", &["1.2.3", "1.2.9"], &["1.3.0", "1.2.2"]);
    check("~1", &["1.0.0", "1.9.0"], &["2.0.0"]);
}

#[test]
fn comparisons_are_joined_by_spaces_commas_and_bars() {
    for text in [">=1.1 <2 !=1.2.3", ">= 1.1, <2, != 1.2.3", "  >=1.1   <   2   !=1.2.3 "] {
        check(text, &["1.1.0", "1.9.0"], &["1.0.9", "2.0.0", "1.2.3"]);
    }
    check("1.0 - 1.5 || >=3", &["1.0.0", "1.5.9", "3.0.0"], &["1.6.0", "2.9.0"]);
    check("1.0.0 - 2.0.0, <=1.4.0", &["1.4.0"], &["1.5.0"]);
}

#[test]
fn prereleases_match_only_if_named() {
    check(">=1.2.0", &["1.2.0"], &["1.3.0-a", "1.2.0-a"]);
    check(">=1.2.0-0", &["1.2.0-a", "1.2.0", "1.3.0-a"], &["1.1.0-a"]);
    check("*-0", &["0.1.0-a", "1.0.0"], &[]);
    // Each alternative decides about prereleases for itself.
    check(">=2.0.0-0 || 1.x", &["2.0.0-a", "1.0.0"], &["1.0.0-a"]);
}

#[test]
fn faults_name_their_place() {
    for (text, at, message) in [
        ("latest", 0..6, "there should be a version, not `latest`"),
        (">=", 2..2, "there should be a version"),
        (">=1.0 <", 7..7, "there should be a version"),
        ("1.2.3.4", 5..7, "`.` does not belong to a version"),
        (">1.1<2", 4..6, "`<` does not belong to a version"),
        ("1.0,", 3..4, "nothing follows the comma"),
        ("1.0, || 2", 3..4, "nothing follows the comma"),
        ("01.2", 0..4, "`01` begins with a zero"),
        ("1x", 0..2, "`1x` is neither a number nor a wildcard"),
        ("1.x.3", 0..5, "a number follows a wildcard"),
        ("1.99999999999999999999", 0..22, "`99999999999999999999` is too large"),
        ("<*", 0..2, "`<` needs a version, and `*` is any"),
        ("1.0-01", 0..6, "`01` is not a prerelease: invalid leading zero in pre-release identifier"),
        ("> = 1", 2..3, "there should be a version, not `=`"),
        ("1 | 2", 2..3, "there should be a version, not `|`"),
        ("größer", 0..8, "there should be a version, not `größer`"),
    ] {
        let fault = Range::parse(text).expect_err(text);
        assert_eq!((fault.message.as_str(), fault.at), (message, at), "{text}");
    }
}

#[test]
fn tags_are_versions_or_are_not() {
    for (tag, expected) in [
        ("v1.0", Some("1.0.0")),
        ("1.2.3-beta.1+5", Some("1.2.3-beta.1+5")),
        ("v2", Some("2.0.0")),
        ("v1.3-beta1", Some("1.3.0-beta1")),
        ("latest", None),
        ("", None),
        ("v", None),
        ("1.x", None),
        ("1.2.3.4", None),
        (" 1.2", None),
    ] {
        assert_eq!(lenient(tag), expected.map(version), "{tag}");
    }
}

#[test]
fn the_highest_counts_by_precedence() {
    let all: Vec<Version> = ["1.0.0", "1.10.0", "1.9.0", "2.0.0", "1.11.0-beta"].map(version).into();
    assert_eq!(range("1.x").highest(&all), Some(&version("1.10.0")));
    assert_eq!(range("1.x-0").highest(&all), Some(&version("1.11.0-beta")));
    assert_eq!(range("^3").highest(&all), None);
}

fn some_version() -> impl Strategy<Value = Version> {
    let pre = prop_oneof![4 => Just(""), 1 => Just("0"), 1 => Just("alpha.1"), 1 => Just("rc")];
    (0u64..4, 0u64..4, 0u64..4, pre).prop_map(|(major, minor, patch, pre)| Version {
        pre: semver::Prerelease::new(pre).expect("a prerelease"),
        ..Version::new(major, minor, patch)
    })
}

fn comparison() -> impl Strategy<Value = String> {
    let operator = prop_oneof![
        Just(""),
        Just("="),
        Just("!="),
        Just(">"),
        Just(">="),
        Just("<"),
        Just("<="),
        Just("~"),
        Just("^")
    ];
    (operator, some_version(), 1usize..4).prop_map(|(operator, version, parts)| {
        let numbers = [version.major, version.minor, version.patch].map(|number| number.to_string());
        let pre = if version.pre.is_empty() { String::new() } else { format!("-{}", version.pre) };
        format!("{operator}{}{pre}", numbers.iter().take(parts).cloned().collect::<Vec<_>>().join("."))
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,20}", seed in "[0-9.xX*v<>=!~^|, +a-]{0,24}") {
        for text in [&text, &seed] {
            if let Err(fault) = Range::parse(text) {
                prop_assert!(text.get(fault.at.clone()).is_some(), "{text}: {fault:?}");
            }
            let _ = lenient(text);
        }
    }

    #[test]
    fn a_printed_range_parses_to_the_same_range(all in prop::collection::vec(comparison(), 1..4), version in some_version()) {
        let text = all.join(", ");
        let again = range(&range(&text).to_string());
        prop_assert_eq!(again.matches(&version), range(&text).matches(&version));
    }

    #[test]
    fn a_comma_means_and_and_bars_mean_or(one in comparison(), other in comparison(), version in some_version()) {
        let (a, b) = (range(&one).matches(&version), range(&other).matches(&version));
        let or = range(&format!("{one} || {other}"));
        prop_assert_eq!(or.matches(&version), a || b);
        if version.pre.is_empty() {
            prop_assert_eq!(range(&format!("{one}, {other}")).matches(&version), a && b);
            prop_assert_eq!(range(&format!("{one} {other}")).matches(&version), a && b);
        }
    }

    #[test]
    fn short_forms_are_what_they_stand_for(version in some_version(), other in some_version()) {
        let (major, minor, patch) = (version.major, version.minor, version.patch);
        let matches = |text: &str| range(text).matches(&other);
        let pairs = [
            (format!("~{major}.{minor}"), format!(">={major}.{minor}.0 <{major}.{}.0", minor + 1)),
            (format!("{major}.x"), format!(">={major}.0.0 <{}.0.0", major + 1)),
            (format!("^{}.{minor}.{patch}", major + 1), format!(">={}.{minor}.{patch} <{}.0.0", major + 1, major + 2)),
            (format!("^0.{}.{patch}", minor + 1), format!(">=0.{}.{patch} <0.{}.0", minor + 1, minor + 2)),
            (format!("{major}.{minor} - {major}.{minor}.{patch}"), format!(">={major}.{minor}.0 <={major}.{minor}.{patch}")),
            (format!(">{major}.{minor}"), format!(">={major}.{}.0", minor + 1)),
            (format!("<={major}.{minor}"), format!("<{major}.{}.0", minor + 1)),
        ];
        for (short, long) in pairs {
            prop_assert_eq!(matches(&short), matches(&long), "{} and {} with {}", short, long, other);
        }
    }

    #[test]
    fn equal_and_not_equal_divide_all_releases(text in comparison(), version in some_version()) {
        let bare = text.trim_start_matches(['=', '!', '<', '>', '~', '^']);
        prop_assume!(version.pre.is_empty() && !bare.contains('-'));
        prop_assert_ne!(range(&format!("={bare}")).matches(&version), range(&format!("!={bare}")).matches(&version));
    }
}
