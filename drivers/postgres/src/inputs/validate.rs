//! All faults of inputs at once.

use purlin_sdk::{Failure, Faults, Json, Raw};

use super::{Connection, Database, Grant, KINDS, LONGEST, ONE_OF, On, PgInputs, Role, Thing};
use crate::identity;
use crate::operation::Named;

impl PgInputs {
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        let mut faults = Faults::default();
        self.connection.place().validate(&mut faults);
        check_name(&mut faults, "/connection/user", &self.connection.user);
        check_name(&mut faults, "/connection/database", &self.connection.database);
        for (place, secret) in [
            ("/connection/password", &self.connection.password),
            ("/secrets/role_password", &self.secrets.role_password),
        ] {
            if secret.as_ref().is_some_and(|secret| secret.contains('\0')) {
                faults.add(place, "must not contain a NUL");
            }
        }
        let is_role = matches!(self.thing()?, Thing::Role(_));
        if self.secrets.role_password.is_some() && !is_role {
            faults.add("/secrets/role_password", "is for `values.role` only");
        }
        match self.thing()? {
            Thing::Database(database) => check_database(&mut faults, database),
            Thing::Role(role) => check_role(&mut faults, role, self.secrets.role_password.is_some()),
            Thing::Grant(grant) => check_grant(&mut faults, grant),
        }
        faults.into_result()
    }
}

/// Checks that do not need every value: the server, names, and that exactly one thing is wanted.
pub(crate) fn shape(inputs: &Raw<PgInputs>) -> Result<(), Failure> {
    let open = KINDS.iter().any(|kind| inputs.unknown.iter().any(|unknown| unknown == kind));
    let given = |kind: &&&str| inputs.get(kind).is_some_and(|given| !given.is_null());
    let count = KINDS.iter().filter(given).count();
    if count > 1 || (count == 0 && !open && !inputs.unknown.contains(&"/values".to_owned())) {
        return Err(Failure::input("/values", ONE_OF));
    }
    let mut faults = Faults::default();
    if !inputs.is_unknown("/connection") {
        let connection: Connection = inputs.part("/connection")?;
        connection.place().validate(&mut faults);
    }
    for kind in KINDS {
        let place = format!("{kind}/name");
        if let Some(name) = inputs.get(&place).and_then(Json::as_str) {
            check_name(&mut faults, &place, name);
        }
    }
    faults.into_result()
}

fn check_name(faults: &mut Faults, place: &str, name: &str) {
    let fault = if name.len() > LONGEST {
        format!("has {} bytes; PostgreSQL's names have at most {LONGEST}", name.len())
    } else if name.contains('\0') {
        "must not contain a NUL".to_owned()
    } else if identity::is_reserved(name) {
        "is a name that this driver uses for unfinished objects".to_owned()
    } else {
        return;
    };
    faults.add(place, fault);
}

fn check_names<'a>(faults: &mut Faults, place: &str, names: impl IntoIterator<Item = &'a String>) {
    for (index, name) in names.into_iter().enumerate() {
        check_name(faults, &format!("{place}/{index}"), name);
    }
}

fn check_database(faults: &mut Faults, database: &Database) {
    let place = |name: &str| format!("/values/database/{name}");
    check_name(faults, &place("name"), database.name());
    let Database { owner, encoding, template, .. } = database;
    for (name, value) in [("owner", owner), ("encoding", encoding), ("template", template)] {
        if let Some(value) = value {
            check_name(faults, &place(name), value);
        }
    }
    check_names(faults, &place("extensions"), &database.extensions);
}

fn check_role(faults: &mut Faults, role: &Role, has_password: bool) {
    check_name(faults, "/values/role/name", role.name());
    if role.name().starts_with("pg_") || matches!(role.name(), "public" | "none") {
        faults.add("/values/role/name", "is a name that PostgreSQL reserves");
    }
    if let Some(database) = &role.database {
        check_name(faults, "/values/role/database", database);
    }
    check_names(faults, "/values/role/member_of", &role.member_of);
    if !role.login && has_password {
        faults.add("/secrets/role_password", "has no effect on a role with `login: false`");
    }
}

fn check_grant(faults: &mut Faults, grant: &Grant) {
    check_name(faults, "/values/grant/role", &grant.role);
    check_name(faults, "/values/grant/database", &grant.database);
    if let Some(schema) = &grant.schema {
        check_name(faults, "/values/grant/schema", schema);
        if grant.on == On::Database {
            faults.add("/values/grant/schema", "has no effect with `on: database`");
        }
    }
    check_names(faults, "/values/grant/future_of", &grant.future_of);
    if !grant.future_of.is_empty() && matches!(grant.on, On::Database | On::Schema) {
        faults.add("/values/grant/future_of", "needs `on: all_tables`, `all_sequences` or `all_functions`");
    }
    let known = grant.on.privileges();
    for (index, privilege) in grant.privileges.iter().enumerate() {
        if !known.contains(&privilege.as_str()) {
            faults.add(
                format!("/values/grant/privileges/{index}"),
                format!("cannot be granted here; the possible privileges are {}", known.join(", ")),
            );
        }
    }
}

impl On {
    /// The possible privileges. They go into statements verbatim.
    pub(crate) fn privileges(self) -> &'static [&'static str] {
        match self {
            Self::Database => &["CONNECT", "CREATE", "TEMPORARY"],
            Self::Schema => &["CREATE", "USAGE"],
            Self::AllTables => &["DELETE", "INSERT", "REFERENCES", "SELECT", "TRIGGER", "TRUNCATE", "UPDATE"],
            Self::AllSequences => &["SELECT", "UPDATE", "USAGE"],
            Self::AllFunctions => &["EXECUTE"],
        }
    }
}
