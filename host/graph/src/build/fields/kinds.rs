//! Which kind of manifest a field names: `networkRef` a `ComputeNetwork`, `vpcIdRef` a `VPC`
//! (SPEC §7). Names are compared word by word, because the ecosystems prefix their kinds and their
//! fields differently.

use purlin_model::camel_words;

/// What a field reads of its target, which is no part of the name of the kind.
const READ: [&str; 24] = [
    "ResourceIds",
    "ResourceId",
    "Identifiers",
    "Identifier",
    "SelfLinks",
    "SelfLink",
    "Names",
    "Name",
    "ARNs",
    "Arns",
    "ARN",
    "Arn",
    "IDs",
    "Ids",
    "ID",
    "Id",
    "URLs",
    "Urls",
    "URL",
    "Url",
    "URI",
    "Uri",
    "Email",
    "Link",
];

/// The kind that the name of a field asks for.
#[derive(Debug)]
pub(super) struct Hint {
    /// The words of the field, with and without what it reads: a kind may be called `DomainName`.
    readings: Vec<Vec<String>>,
}

/// How well a kind fits: how many words of the field it accounts for, and how much of the kind the
/// field accounts for: its whole name (2), all of it but the name of its product (1), or a part.
pub(super) type Fit = (usize, u8);

impl Hint {
    /// `stem` is the name of a reference field without its suffix: `vpcId`.
    pub(super) fn new(stem: &str) -> Self {
        let mut readings = vec![words(stem)];
        let mut rest = stem;
        while let Some(shorter) =
            READ.iter().find_map(|end| rest.strip_suffix(end).filter(|rest| !rest.is_empty()))
        {
            readings.push(words(shorter));
            rest = shorter;
        }
        Self { readings }
    }

    /// How well a kind of a group fits; `None` if the field does not name it.
    pub(super) fn fit(&self, group: &str, kind: &str) -> Option<Fit> {
        let kind = words(kind);
        let label = camel_words(group.split('.').next().unwrap_or_default());
        self.readings.iter().filter_map(|reading| fit(reading, &label, &kind)).max()
    }
}

/// The field names the kind if the kind has all of its words in their order, the last one last, or
/// if the field ends with the name of the kind, with or without that of its product: `sourceDisk`
/// names a `Disk`, and the `ComputeDisk` of the group `compute`.
fn fit(field: &[String], label: &[String], kind: &[String]) -> Option<Fit> {
    let mut all = kind.iter().rev().chain(label.iter().rev());
    let covered = field.iter().rev().take_while(|word| all.any(|other| other == *word)).count();
    // Words may be run together: `iothub` names an `IOTHub`.
    let whole = kind.concat();
    let short = whole.strip_prefix(&label.concat()).filter(|short| !short.is_empty());
    let ends_with = |name: &str| {
        let ends = (0..field.len()).filter_map(|at| field.get(at..));
        ends.map(<[String]>::concat).any(|end| end == name)
    };
    let completeness = match (ends_with(&whole), short.is_some_and(ends_with)) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    };
    let is_part = covered == field.len() && field.last() == kind.last();
    (is_part || completeness > 0).then_some((covered.max(1), completeness))
}

/// The words of a name, the last one in the singular.
fn words(name: &str) -> Vec<String> {
    let mut words = camel_words(name);
    if let Some(last) = words.last_mut() {
        let endings = [("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ss", "ss"), ("s", "")];
        if let Some((rest, end)) =
            endings.iter().find_map(|(plural, one)| Some((last.strip_suffix(plural)?.to_owned(), one)))
            && rest.len() > 1
        {
            *last = format!("{rest}{end}");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best<'a>(field: &str, kinds: &[&'a str]) -> Vec<&'a str> {
        let hint = Hint::new(field);
        let fit = |kind: &str| {
            let (group, kind) = kind.split_once('/').expect("a group and a kind");
            hint.fit(group, kind)
        };
        let most = kinds.iter().filter_map(|kind| fit(kind)).max();
        kinds.iter().copied().filter(|kind| most.is_some() && fit(kind) == most).collect()
    }

    #[test]
    fn a_field_names_a_kind() {
        for (field, kinds, expected) in [
            ("network", &["net/Network", "net/Subnet"][..], &["net/Network"][..]),
            ("network", &["compute.c/ComputeNetwork", "dns.c/DNSManagedZone"], &["compute.c/ComputeNetwork"]),
            ("topic", &["pubsub.c/PubSubTopic", "pubsub.c/PubSubSubscription"], &["pubsub.c/PubSubTopic"]),
            ("vpcId", &["ec2.a/VPC", "ec2.a/VPCPeeringConnection"], &["ec2.a/VPC"]),
            ("vpcIDs", &["ec2.a/VPC", "ec2.a/Subnet"], &["ec2.a/VPC"]),
            ("sourceVpcId", &["ec2.a/VPC", "ec2.a/Subnet"], &["ec2.a/VPC"]),
            ("zoneName", &["network.a/DNSZone", "network.a/DNSARecord"], &["network.a/DNSZone"]),
            ("kmsKey", &["kms.c/KMSCryptoKey", "ssh.c/SSHKey"], &["kms.c/KMSCryptoKey"]),
            ("storageAccountName", &["storage.a/Account", "cosmosdb.a/Account"], &["storage.a/Account"]),
            ("domainName", &["apigateway.a/DomainName", "swf.a/Domain"], &["apigateway.a/DomainName"]),
            ("policyArns", &["iam.a/Policy", "iam.a/Role"], &["iam.a/Policy"]),
            ("address", &["compute.c/ComputeAddress", "x.c/Other"], &["compute.c/ComputeAddress"]),
            (
                "securityGroupIds",
                &["ec2.a/SecurityGroup", "ec2.a/SecurityGroupRule"],
                &["ec2.a/SecurityGroup"],
            ),
            (
                "sourceDisk",
                &["compute.c/ComputeDisk", "compute.c/ComputeNetwork"],
                &["compute.c/ComputeDisk"],
            ),
            ("iothubName", &["devices.a/IOTHub", "x.a/Other"], &["devices.a/IOTHub"]),
            ("subnetResourceId", &["network.a/Subnet", "network.a/VirtualNetwork"], &["network.a/Subnet"]),
            ("caPool", &["privateca.c/PrivateCACAPool", "x.c/Other"], &["privateca.c/PrivateCACAPool"]),
            (
                "parameterGroupName",
                &["dax.a/ParameterGroup", "cache.a/CacheParameterGroup"],
                &["dax.a/ParameterGroup"],
            ),
            ("sourceDisk", &["a.b/HardDisk", "a.b/Other"], &[]),
            ("thing", &["a.b/Other", "a.b/Another"], &[]),
            ("bucket", &["s3.a/Bucket", "storage.c/StorageBucket"], &["s3.a/Bucket"]),
            ("bucket", &["b.c/ABucket", "c.d/BBucket"], &["b.c/ABucket", "c.d/BBucket"]),
        ] {
            assert_eq!(best(field, kinds), expected, "{field}");
        }
    }
}
