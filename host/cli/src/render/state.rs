//! Renders recorded resources as a table.

use crate::report::state::Resource;
use crate::style::{DELETE, DIM, UPDATE};

use super::table::{Cell, Table};

/// A table of resources. If the terminal is narrow, the least important columns shrink first.
pub(crate) fn table(resources: &[Resource], columns: Option<usize>) -> String {
    let rows = resources.iter().map(|resource| {
        [
            Cell::new(&name(resource)),
            status(resource),
            resource.driver.as_str().into(),
            resource.provider_id.as_str().into(),
        ]
    });
    Table {
        titles: ["KEY", "STATUS", "DRIVER", "PROVIDER ID"],
        rows: rows.collect(),
        yields: &[(3, 12), (2, 12)],
    }
    .render(columns)
}

fn name(resource: &Resource) -> String {
    match resource.copy {
        None => resource.key.clone(),
        Some(number) => format!("{} (copy {number})", resource.key),
    }
}

fn status(resource: &Resource) -> Cell {
    let mut words = Vec::new();
    match &resource.pending {
        Some(pending) if resource.status == "pending" => words.push(format!("{} pending", pending.operation)),
        Some(pending) => {
            words.push(resource.status.to_owned());
            words.push(format!("{} pending", pending.operation));
        }
        None if resource.copy.is_some() => words.push("replaced".to_owned()),
        None => words.push(resource.status.to_owned()),
    }
    words.extend(resource.marks.iter().map(|mark| (*mark).to_owned()));
    let cell = Cell::new(&words.join(", "));
    match resource.status {
        _ if resource.pending.is_some() => cell.styled(UPDATE),
        _ if resource.copy.is_some() => cell.styled(DIM),
        "absent" | "partial" => cell.styled(DELETE),
        _ if resource.marks.contains(&"tainted") => cell.styled(UPDATE),
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::state::Pending;

    fn resource(key: &str, status: &'static str, marks: &[&'static str]) -> Resource {
        Resource {
            urn: String::new(),
            key: key.into(),
            copy: None,
            status,
            marks: marks.to_vec(),
            pending: None,
            driver: "purlin/template@0.1.0".into(),
            provider_id: "b7174561b80b304805a86af5fedf126d1601c7f9".into(),
            dependencies: vec![],
        }
    }

    fn some() -> Vec<Resource> {
        let pending = |operation| {
            Some(Pending {
                operation,
                since: String::new(),
                checkpoint: None,
                idempotency_key: String::new(),
            })
        };
        vec![
            resource("base-env.default#base-env", "ready", &[]),
            resource("postgres.default#modules.web.externals.db", "ready", &["tainted", "protected"]),
            Resource {
                copy: Some(1),
                ..resource("postgres.default#modules.web.externals.db", "ready", &["protected"])
            },
            Resource { pending: pending("update"), ..resource("dns.public#shared.a\u{1b}", "partial", &[]) },
            Resource {
                pending: pending("create"),
                provider_id: String::new(),
                ..resource("s3.default#shared.new", "pending", &[])
            },
            resource("zone.default#shared.zone", "ready", &["external"]),
        ]
    }

    #[test]
    fn every_status_reads_well_at_80_and_140_columns() {
        for columns in [80, 140] {
            let text = anstream::adapter::strip_str(&table(&some(), Some(columns))).to_string();
            assert!(text.lines().all(|line| crate::text::width(line) <= columns), "{text}");
            insta::assert_snapshot!(format!("table_at_{columns}"), text);
        }
    }
}
