//! The driver purlin/postgres: databases, roles and privileges of a PostgreSQL server.

mod client;
mod contents;
mod database;
mod grant;
mod identity;
mod inputs;
mod operation;
mod role;
mod search;
mod session;
mod statement_error;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest, Json,
    Name, NameRequest, Object, Observed, Read, ReadRequest, RequestedCapability, State, TypeSchema, Update,
    UpdateImpact, UpdateRequest,
};
use purlin_sdk_net::Deadline;

use identity::{Identity, Kept};
use inputs::{KINDS, PgInputs, PgOutputs, Thing};
use operation::{Named, Operation};

/// Databases, roles and privileges of a PostgreSQL server.
pub struct Postgres;

impl Driver for Postgres {
    const NAME: &str = "purlin/postgres";
    const DESCRIPTION: &str = "A database, a role or privileges of a PostgreSQL server.";
    type Inputs = PgInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<PgInputs, PgOutputs>("*")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "tcp".to_owned(),
            pattern: None,
            reason: "the PostgreSQL server, at `connection.host` and `connection.port`".to_owned(),
        }]
    }

    fn create(request: CreateRequest<PgInputs>) -> Result<State, Failure> {
        let (inputs, subject) = (&request.inputs.given, &request.subject);
        inputs.validate()?;
        let until = Deadline::of_call(&request.call);
        let old = |kind| request.replaces.as_deref().map(|id| Identity::of(kind, subject, Some(id)));
        match inputs.thing()? {
            Thing::Database(wanted) => {
                Operation::new(inputs, wanted, subject, None, until).create(old("database").as_ref())
            }
            Thing::Role(wanted) => {
                Operation::new(inputs, wanted, subject, None, until).create(old("role").as_ref())
            }
            Thing::Grant(wanted) => {
                Operation::new(inputs, wanted, subject, None, until).create(old("grant").as_ref())
            }
        }
    }

    fn delete(request: DeleteRequest<PgInputs>) -> Result<(), Failure> {
        let (inputs, subject) = (request.inputs.parse()?, &request.subject);
        let (id, kept) = (Some(request.state.id.as_str()), request.state.read_cookie::<Kept>()?);
        let until = Deadline::of_call(&request.call);
        match inputs.thing()? {
            Thing::Database(wanted) => {
                Operation::new(&inputs, wanted, subject, id, until).delete(kept.as_ref())
            }
            Thing::Role(wanted) => Operation::new(&inputs, wanted, subject, id, until).delete(kept.as_ref()),
            Thing::Grant(wanted) => Operation::new(&inputs, wanted, subject, id, until).delete(),
        }
    }
}

impl Check for Postgres {
    fn check(request: CheckRequest<PgInputs>) -> Result<Checked, Failure> {
        let mut inputs = request.inputs.without_nulls();
        inputs::normalise(&mut inputs, &request.subject);
        match inputs.known()? {
            Some(known) => known.validate()?,
            None => inputs::shape(&inputs)?,
        }
        Ok(Checked::unchanged(inputs))
    }
}

impl Name for Postgres {
    fn name(request: NameRequest<PgInputs>) -> Result<String, Failure> {
        Ok(match request.inputs.thing()? {
            Thing::Database(database) => database.name().to_owned(),
            Thing::Role(role) => role.name().to_owned(),
            Thing::Grant(grant) => format!("{} in {}", grant.role, grant.database),
        })
    }
}

impl Read for Postgres {
    fn read(request: ReadRequest<PgInputs>) -> Result<Option<Observed>, Failure> {
        let (inputs, subject, id) = (request.inputs.parse()?, &request.subject, request.id.as_deref());
        let recorded = request.state.is_some();
        let kept = request.state.as_ref().map(State::read_cookie::<Kept>).transpose()?.flatten();
        let until = Deadline::of_call(&request.call);
        let (kind, found) = match inputs.thing()? {
            Thing::Database(wanted) => {
                ("database", Operation::new(&inputs, wanted, subject, id, until).read(id, kept)?)
            }
            Thing::Role(wanted) => {
                ("role", Operation::new(&inputs, wanted, subject, id, until).read(id, kept)?)
            }
            Thing::Grant(wanted) => {
                ("grant", Operation::new(&inputs, wanted, subject, id, until).read(id, recorded)?)
            }
        };
        let Some((state, there)) = found else { return Ok(None) };
        let mut values = Object::new();
        values.insert(kind.to_owned(), without_nulls(there));
        Observed::new(state, values).map(Some)
    }
}

/// Removes null members, as `check` does.
fn without_nulls(mut value: Json) -> Json {
    if let Json::Object(object) = &mut value {
        object.retain(|_, value| !value.is_null());
    }
    value
}

impl UpdateImpact for Postgres {
    fn update_impact(request: ImpactRequest<PgInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact { replaces: request.switches(KINDS), ..Impact::default() };
        let moves = ["/connection/host", "/connection/port"].iter().any(|place| request.changes(place));
        // The new one has the old one's mark, and often its name, whatever the cause of the
        // replacement.
        impact.delete_before_replace = !moves;
        let stays = |pointers: &[&str]| pointers.iter().all(|pointer| !request.changes(pointer));
        let stable = [
            ("host", stays(&["/connection/host"])),
            ("port", stays(&["/connection/port"])),
            ("name", stays(&["/values/database/name", "/values/role/database", "/values/grant/database"])),
            ("username", stays(&["/values/role/name", "/values/grant/role"])),
            ("password", stays(&["/secrets/role_password"])),
        ];
        if impact.replaces.is_empty() {
            let stable = stable.into_iter().filter(|(_, stays)| *stays).map(|(name, _)| name);
            impact.keep(&request.state, stable);
        }
        Ok(impact)
    }
}

impl Update for Postgres {
    fn update(request: UpdateRequest<PgInputs>) -> Result<State, Failure> {
        let (inputs, subject) = (&request.after.given, &request.subject);
        inputs.validate()?;
        let id = request.state.id.as_str();
        let kept = request.state.read_cookie::<Kept>()?.unwrap_or_default();
        let until = Deadline::of_call(&request.call);
        match inputs.thing()? {
            Thing::Database(wanted) => {
                Operation::new(inputs, wanted, subject, Some(id), until).update(id, &kept)
            }
            Thing::Role(wanted) => {
                let before = request.before.get("/secrets/role_password").and_then(Json::as_str);
                Operation::new(inputs, wanted, subject, Some(id), until).update(id, &kept, before)
            }
            Thing::Grant(wanted) => {
                let before = request.before.parse().ok();
                let before = before.as_ref().and_then(|before: &PgInputs| before.values.grant.as_ref());
                Operation::new(inputs, wanted, subject, Some(id), until).update(id, before)
            }
        }
    }
}

purlin_sdk::export!(Postgres);

#[cfg(test)]
mod tests;
