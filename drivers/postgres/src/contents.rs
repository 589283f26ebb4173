//! The contents of a database, so that one with contents is not dropped by mistake.

use serde::Deserialize;

use crate::client::Client;
use crate::statement_error::StatementError;

/// How many objects are named.
const SHOWN: usize = 5;

/// The objects that people created in a database.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// The kinds and names of the first few, tables first.
    first: Vec<DatabaseObject>,
    total: u64,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct DatabaseObject {
    kind: String,
    name: String,
}

/// Tables, views, sequences, types and functions of all schemas, and large objects; not those of
/// the server or of an extension. Every role can read the catalogue.
const QUERY: &str = "\
    SELECT kind, name, count(*) OVER () AS total FROM (\
    SELECT o.kind, n.nspname || '.' || o.name AS name FROM (\
    SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid AS class, c.oid, c.relnamespace AS home, \
    c.relname::text AS name, CASE WHEN c.relkind IN ('r', 'p', 'f') THEN 'table' \
    WHEN c.relkind IN ('v', 'm') THEN 'view' WHEN c.relkind = 'S' THEN 'sequence' ELSE 'type' END AS kind \
    FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm', 'S', 'c') \
    UNION ALL SELECT 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid, t.oid, t.typnamespace, t.typname::text, 'type' \
    FROM pg_catalog.pg_type t WHERE t.typtype IN ('d', 'e', 'r') \
    UNION ALL SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid, p.oid, p.pronamespace, p.proname::text, 'function' \
    FROM pg_catalog.pg_proc p) o \
    JOIN pg_catalog.pg_namespace n ON n.oid = o.home \
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') \
    AND n.nspname !~ '^pg_(toast|temp_|toast_temp_)' \
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d \
    WHERE d.classid = o.class AND d.objid = o.oid AND d.deptype IN ('e', 'i')) \
    UNION ALL SELECT 'large object', l.oid::text FROM pg_catalog.pg_largeobject_metadata l) things \
    ORDER BY CASE kind WHEN 'table' THEN 0 WHEN 'large object' THEN 1 WHEN 'view' THEN 2 ELSE 3 END, name \
    LIMIT 5";

/// Reads the contents of the connected database.
pub(crate) fn look(client: &mut Client) -> Result<Contents, StatementError> {
    #[derive(Deserialize)]
    struct Row {
        kind: String,
        name: String,
        total: u64,
    }
    let rows: Vec<Row> = client.select(QUERY)?;
    let total = rows.first().map_or(0, |row| row.total);
    let first = rows.into_iter().take(SHOWN).map(|row| DatabaseObject { kind: row.kind, name: row.name });
    Ok(Contents { first: first.collect(), total })
}

impl Contents {
    /// A description; none if it is empty.
    pub(crate) fn described(&self) -> Option<String> {
        if self.total == 0 {
            return None;
        }
        let first: Vec<String> =
            self.first.iter().map(|thing| format!("the {} `{}`", thing.kind, thing.name)).collect();
        let more = match self.total - first.len() as u64 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("{}{more}", first.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_described_shortly() {
        let things = |names: &[&str]| {
            names.iter().map(|name| DatabaseObject { kind: "table".into(), name: (*name).into() }).collect()
        };
        assert_eq!(Contents::default().described(), None);
        let few = Contents { first: things(&["public.a"]), total: 1 };
        assert_eq!(few.described().as_deref(), Some("the table `public.a`"));
        let many = Contents { first: things(&["public.a", "public.b"]), total: 9 };
        assert_eq!(
            many.described().as_deref(),
            Some("the table `public.a`, the table `public.b` and 7 more")
        );
    }
}
