//! Patterns with `*`: of resource types, and of groups of manifests.

/// Whether a pattern, in which `*` matches any text, matches a whole text.
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // The position for backtracking: after the last star, and the byte of the text.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
        } else if pattern.get(p) == text.get(t) {
            p += 1;
            t += 1;
        } else if let Some((behind, from)) = star {
            star = Some((behind, from + 1));
            p = behind;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern.iter().skip(p).all(|b| *b == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "dns", true),
            ("aws-*", "aws-role", true),
            ("aws-*", "aws-", true),
            ("aws-*", "gcp-role", false),
            ("*-policy", "aws-policy", true),
            ("*-policy", "aws-policy-x", false),
            ("a*b*c", "axxbxbyc", true),
            ("a*b*c", "axxbxby", false),
            ("dns", "dns", true),
            ("dns", "dnsx", false),
        ] {
            assert_eq!(matches_pattern(pattern, text), expected, "{pattern} {text}");
        }
    }
}
