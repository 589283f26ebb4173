//! Renders the audit as text.

use crate::report::audit::{Entry, Trail};
use crate::style::{DELETE, GOOD, STRONG, paint};
use crate::text;

use super::table::{Cell, Table};

/// The width from which a table has room for times of day.
const WIDE: usize = 100;

/// A table of changes. Each text gets its share of the width, so that no column is left out.
pub(crate) fn table(entries: &[Entry], columns: Option<usize>) -> String {
    let share = |text: &str, part: usize| match columns {
        Some(columns) => Cell::new(&text::fit(&text::line(text), columns * part / 20)),
        None => Cell::new(text),
    };
    let rows = entries.iter().map(|entry| {
        let when = match entry.time.split_once('T').filter(|_| columns.is_some_and(|columns| columns < WIDE))
        {
            Some((date, _)) => date,
            None => &entry.time,
        };
        [
            entry.number.to_string().into(),
            when.into(),
            share(&entry.what(), 7),
            share(&who(entry), 4),
            share(entry.reason.as_deref().unwrap_or_default(), 3),
        ]
    });
    Table { titles: ["NR", "WHEN", "WHAT", "WHO", "WHY"], rows: rows.collect(), yields: &[(3, 8), (4, 8)] }
        .render(columns)
}

/// Who it was according to the client, and according to the database.
fn who(entry: &Entry) -> String {
    let client = format!("{} on {}", entry.user, entry.host);
    match &entry.database_user {
        None => client,
        Some(user) => match &user.address {
            Some(address) => format!("{client} ({} from {address})", user.role),
            None => format!("{client} ({})", user.role),
        },
    }
}

/// The name above the table of one of several environments.
pub(crate) fn heading(trail: &Trail) -> String {
    format!("{}\n", paint(STRONG, text::line(&trail.name())))
}

/// Whether the chain of an audit is intact.
pub(crate) fn verdict(trail: &Trail) -> String {
    let name = text::line(&trail.name()).into_owned();
    let mut out = String::new();
    for fault in &trail.faults {
        out.push_str(&format!("{} {name}: {fault}\n", paint(DELETE, "wrong:")));
    }
    if let (true, Some(last)) = (trail.faults.is_empty(), &trail.last) {
        let entries = match trail.kept {
            1 => "1 entry".to_owned(),
            kept => format!("{kept} entries"),
        };
        out.push_str(&format!("{} {name}: {entries}\n   {last}\n", paint(GOOD, "ok")));
    }
    out
}

#[cfg(test)]
mod tests {
    use purlin_state::{AuditAction, AuditEntry, AuditFault, AuditTrail, DatabaseUser, Environment, Holder};

    use super::*;

    fn trail() -> Trail {
        let by = |since: u64| Holder {
            user: "ada".into(),
            host: "build-7.internal.example.com".into(),
            pid: 4711,
            command: "purlin up".into(),
            since: 1_790_000_000_123 + since,
        };
        let urn = "urn:purlin:dev/acme::shop::web::postgres.default::modules.web.externals.db";
        let database_user = DatabaseUser { role: "ci".into(), address: Some("10.0.0.7".into()) };
        let run = AuditEntry {
            number: 11,
            resources: 120,
            database_user: Some(database_user),
            ..AuditEntry::new(by(0), AuditAction::Run)
        };
        let forget = AuditEntry {
            number: 12,
            subjects: vec![urn.into()],
            reason: Some("deleted in the console,\u{1b}[31m see OPS-77".into()),
            ..AuditEntry::new(by(5_000), AuditAction::Forget)
        };
        let trail = AuditTrail { entries: vec![run, forget], faults: vec![AuditFault::Missing(3, 5)] };
        let environment = Environment { org: "acme".into(), app: "shop".into(), env: "dev".into() };
        Trail::new(&environment, &trail, 0, usize::MAX)
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn an_audit_reads_well_at_80_and_140_columns() {
        for columns in [80, 140] {
            let text = plain(&table(&trail().entries, Some(columns)));
            assert!(text.lines().all(|line| text::width(line) <= columns), "{text}");
            insta::assert_snapshot!(format!("audit_at_{columns}"), text);
        }
    }

    #[test]
    fn a_verdict_names_what_is_wrong() {
        let mut trail = trail();
        assert_eq!(plain(&verdict(&trail)), "wrong: dev of acme/shop: entries 3 to 5 are missing\n");
        trail.faults.clear();
        let zeros = "0".repeat(64);
        assert_eq!(plain(&verdict(&trail)), format!("ok dev of acme/shop: 2 entries\n   {zeros}\n"));
    }
}
