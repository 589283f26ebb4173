//! The driver purlin/redis: users of a Redis server.

mod client;
mod identity;
mod inputs;
mod user;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest, Json,
    Name, NameRequest, Object, Observed, Read, ReadRequest, RequestedCapability, State, TypeSchema, Update,
    UpdateImpact, UpdateRequest,
};
use purlin_sdk_net::Deadline;

use identity::Identity;
use inputs::{RedisInputs, UserOutputs};
use user::UserOperation;

/// Users of a Redis server.
pub struct Redis;

impl Driver for Redis {
    const NAME: &str = "purlin/redis";
    const DESCRIPTION: &str = "A user of a Redis server, with its permissions.";
    type Inputs = RedisInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<RedisInputs, UserOutputs>("*")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "tcp".to_owned(),
            pattern: None,
            reason: "the Redis server, at `connection.host` and `connection.port`".to_owned(),
        }]
    }

    fn create(request: CreateRequest<RedisInputs>) -> Result<State, Failure> {
        let inputs = &request.inputs.given;
        inputs.validate()?;
        let identity = Identity::of(&request.subject, None);
        let old = request.replaces.as_deref().map(|id| Identity::of(&request.subject, Some(id)));
        UserOperation { inputs, identity, until: Deadline::of_call(&request.call) }.create(old.as_ref())
    }

    fn delete(request: DeleteRequest<RedisInputs>) -> Result<(), Failure> {
        let inputs = &request.inputs.parse()?;
        let identity = Identity::of(&request.subject, Some(&request.state.id));
        UserOperation { inputs, identity, until: Deadline::of_call(&request.call) }.delete()
    }
}

impl Check for Redis {
    fn check(request: CheckRequest<RedisInputs>) -> Result<Checked, Failure> {
        let mut request = CheckRequest { inputs: request.inputs.without_nulls(), ..request };
        request.choose("/values/user/name", |subject| inputs::default_name(subject).into());
        let mut inputs = request.inputs;
        inputs::normalise(&mut inputs);
        match inputs.known()? {
            Some(known) => known.validate()?,
            None => inputs::shape(&inputs)?,
        }
        Ok(Checked::unchanged(inputs))
    }
}

impl Name for Redis {
    fn name(request: NameRequest<RedisInputs>) -> Result<String, Failure> {
        Ok(request.inputs.values.user.name().to_owned())
    }
}

impl Read for Redis {
    fn read(request: ReadRequest<RedisInputs>) -> Result<Option<Observed>, Failure> {
        let mut inputs = request.inputs;
        // An import may look at a user whose password is generated only later. An empty password is
        // that of no user.
        if let (false, Json::Object(document)) =
            (inputs.is_given("/secrets/user_password"), inputs.document_mut())
        {
            document.insert("secrets".to_owned(), [("user_password", "")].into_iter().collect());
        }
        let inputs = &inputs.parse()?;
        let identity = Identity::of(&request.subject, request.id.as_deref());
        let work = UserOperation { inputs, identity, until: Deadline::of_call(&request.call) };
        let Some((state, user)) = work.read(request.state.as_ref())? else { return Ok(None) };
        let Some(user) = user else { return Ok(Some(state.into())) };
        let mut values = Object::new();
        values.insert("user".to_owned(), user);
        Observed::new(state, values).map(Some)
    }
}

impl UpdateImpact for Redis {
    fn update_impact(request: ImpactRequest<RedisInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact::default();
        // A name is unique on a server.
        let places = ["/values/user/name", "/connection/host", "/connection/port"];
        impact.delete_before_replace = !places.iter().any(|place| request.changes(place));
        impact.keep(&request.state, ["host", "port", "username"]);
        if !request.changes("/secrets/user_password") {
            impact.keep(&request.state, ["password"]);
        }
        Ok(impact)
    }
}

impl Update for Redis {
    fn update(request: UpdateRequest<RedisInputs>) -> Result<State, Failure> {
        let inputs = &request.after.given;
        inputs.validate()?;
        let id = request.state.id.as_str();
        let identity = Identity::of(&request.subject, Some(id));
        UserOperation { inputs, identity, until: Deadline::of_call(&request.call) }.update(id)
    }
}

purlin_sdk::export!(Redis);

#[cfg(test)]
mod tests;
