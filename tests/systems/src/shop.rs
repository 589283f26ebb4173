//! The servers of `examples/shop`, and the example itself with their addresses in it.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::example::{self, Example};
use crate::moto::{self, Moto};
use crate::postgres::{self, Postgres};
use crate::powerdns::{self, PowerDns};

/// The ports that the example names.
const PORTS: [&str; 3] = ["15432", "18081", "15000"];

/// The servers, as long as this lives.
#[derive(Debug)]
pub struct Shop {
    /// PostgreSQL.
    pub postgres: Postgres,
    /// PowerDNS.
    pub dns: PowerDns,
    /// A server for S3 and IAM.
    pub aws: Moto,
}

impl Shop {
    /// Starts them; none if one of them is not installed.
    pub fn start() -> Option<Self> {
        Some(Self { postgres: Postgres::start()?, dns: PowerDns::start()?, aws: Moto::start()? })
    }
}

impl Example for Shop {
    fn put_into(&self, folder: &Path) {
        let ports = [self.postgres.port, self.dns.port(), self.aws.port()].map(|port| port.to_string());
        let replaced: Vec<_> = PORTS.into_iter().zip(ports).collect();
        example::copy("shop", folder, &replaced);
        example::secrets(
            folder,
            &[
                ("postgres", postgres::PASSWORD),
                ("dns", powerdns::KEY),
                ("aws-key-id", &self.aws.key.0),
                ("aws-key", &self.aws.key.1),
            ],
        );
    }

    fn inventory(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut add = |what: &str, names: Vec<String>| {
            all.extend(names.into_iter().map(|name| format!("{what} {name}")));
        };
        add("PostgreSQL role", self.postgres.roles());
        add("PostgreSQL database", self.postgres.databases());
        for zone in moto::names(&self.dns.api("GET", "/zones", &Value::Null).1, "name") {
            let records = self.dns.api("GET", &format!("/zones/{zone}"), &Value::Null).1;
            let sets = records["rrsets"].as_array().cloned().unwrap_or_default();
            let of_people = sets.iter().filter(|set| !matches!(set["type"].as_str(), Some("SOA" | "NS")));
            add("DNS zone", vec![zone]);
            add("DNS record", of_people.map(record).collect());
        }
        for bucket in self.aws.buckets() {
            let policy = self.aws.try_ask("s3", "get_bucket_policy", json!({"Bucket": &bucket}));
            add("S3 bucket", vec![bucket.clone()]);
            add("S3 policy of", policy.into_iter().map(|_| bucket.clone()).collect());
        }
        let policies = self.aws.ask("iam", "list_policies", json!({"Scope": "Local"}));
        add("IAM policy", moto::names(&policies["Policies"], "PolicyName"));
        for role in moto::names(&self.aws.ask("iam", "list_roles", json!({}))["Roles"], "RoleName") {
            let attached = self.aws.ask("iam", "list_attached_role_policies", json!({"RoleName": &role}));
            let mut line = role;
            for policy in moto::names(&attached["AttachedPolicies"], "PolicyName") {
                let _ = write!(line, ", with {policy}");
            }
            add("IAM role", vec![line]);
        }
        all
    }

    fn hints(&self) -> Vec<String> {
        vec!["PostgreSQL, PowerDNS, S3 and IAM: see purlin.yaml and secrets/ there".to_owned()]
    }
}

fn record(set: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let contents = set["records"].as_array().into_iter().flatten().map(|one| text(&one["content"]));
    let contents: Vec<String> = contents.collect();
    format!("{} {} {}", text(&set["name"]), text(&set["type"]), contents.join(" "))
}
