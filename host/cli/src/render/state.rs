//! Renders recorded resources as a table.

use crate::report::state::Resource;
use crate::style::{DELETE, DIM, UPDATE, paint};
use crate::text;

use super::table::{Cell, Table};

/// A table of resources, with `parts` those of each below it. If the terminal is narrow, the least important
/// columns shrink first.
pub(crate) fn table(resources: &[Resource], parts: bool, columns: Option<usize>) -> String {
    let rows = resources.iter().map(|resource| {
        [
            Cell::new(&name(resource)),
            status(resource),
            resource.driver.as_str().into(),
            resource.provider_id.as_str().into(),
        ]
    });
    let table = Table {
        titles: ["KEY", "STATUS", "DRIVER", "PROVIDER ID"],
        rows: rows.collect(),
        yields: &[(3, 12), (2, 12)],
    }
    .render(columns);
    if !parts {
        return table;
    }
    let mut out = String::new();
    for (number, line) in table.lines().enumerate() {
        out.push_str(&format!("{line}\n"));
        // The titles are above the first resource.
        let resource = number.checked_sub(1).and_then(|index| resources.get(index));
        for one in resource.iter().flat_map(|resource| &*resource.parts) {
            let data = one.holds_data.as_deref().map(|data| format!(", holds {data}")).unwrap_or_default();
            let line = format!("  {} ({}{data})", one.address, one.type_name);
            let line = text::line(&line);
            let line = columns.map_or_else(|| line.clone(), |columns| text::fit(&line, columns));
            out.push_str(&format!("{}\n", paint(DIM, line)));
        }
    }
    out
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
    use std::sync::Arc;

    use purlin_model::driver::RecordedPart;

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
            parts: Arc::default(),
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
            let shown = anstream::adapter::strip_str(&table(&some(), false, Some(columns))).to_string();
            assert!(shown.lines().all(|line| text::width(line) <= columns), "{shown}");
            insta::assert_snapshot!(format!("table_at_{columns}"), shown);
        }
    }

    #[test]
    fn parts_are_below_their_resource() {
        let part = |address: &str, holds_data: Option<&str>| RecordedPart {
            address: address.into(),
            type_name: "aws_subnet".into(),
            holds_data: holds_data.map(Into::into),
        };
        let long = "module.network.module.private.aws_subnet.zone[\"eu-central-1a\"]";
        let mut resources = some();
        resources[0].parts = [part("a\u{1b}", None), part("b", Some("all tables")), part(long, None)].into();
        let shown =
            |parts, columns| anstream::adapter::strip_str(&table(&resources, parts, columns)).to_string();
        let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let (without, with) = (lines(shown(false, Some(80))), lines(shown(true, Some(80))));
        assert_eq!(with.len(), without.len() + 3);
        assert_eq!((&with[..2], &with[5..]), (&without[..2], &without[2..]));
        assert_eq!(with[2..4], ["  a\\u{1b} (aws_subnet)", "  b (aws_subnet, holds all tables)"]);
        assert!(with.iter().all(|line| text::width(line) <= 80), "{with:#?}");
        assert!(shown(true, None).contains(&format!("  {long} (aws_subnet)\n")));
    }
}
