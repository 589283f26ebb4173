//! The words of names such as `DBSubnetGroup`: kinds of manifests, and fields.

/// The words in lower case: `db`, `subnet`, `group`. A word begins with a capital after a
/// lower-case letter or a digit, and with the last of several capitals before a lower-case letter.
pub fn camel_words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| letters.get(index));
        let after = letters.get(index + 1);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        match words.last_mut().filter(|_| !begins) {
            Some(word) => word.extend(letter.to_lowercase()),
            None => words.push(letter.to_lowercase().collect()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::camel_words;

    #[test]
    fn capitals_begin_words() {
        for (name, words) in [
            ("VPC", "vpc"),
            ("ConfigMap", "config map"),
            ("EKSCluster", "eks cluster"),
            ("DBSubnetGroup", "db subnet group"),
            ("RDSInstance", "rds instance"),
            ("S3Bucket", "s3 bucket"),
            ("OpenIDConnectProvider", "open id connect provider"),
            ("VPCPeeringConnection", "vpc peering connection"),
            ("lower", "lower"),
            ("vpcId", "vpc id"),
            ("", ""),
        ] {
            assert_eq!(camel_words(name).join(" "), words);
        }
    }
}
