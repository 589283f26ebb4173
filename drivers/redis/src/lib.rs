//! The driver purlin/redis: users of a Redis server.

mod client;
mod identity;
mod inputs;
mod user;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest, Name,
    NameRequest, Object, Observed, Read, ReadRequest, State, TypeSchema, Update, UpdateImpact, UpdateRequest,
    Wish,
};
use purlin_sdk_net::Deadline;

use identity::Identity;
use inputs::RedisInputs;
use user::Work;

/// Users of a Redis server.
pub struct Redis;

impl Driver for Redis {
    const NAME: &str = "purlin/redis";
    const DESCRIPTION: &str = "A user of a Redis server, with what it may do.";
    type Inputs = RedisInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::any(inputs::input_schema(), inputs::output_schema())]
    }

    fn wishes() -> Vec<Wish> {
        vec![Wish {
            capability: "tcp".to_owned(),
            pattern: String::new(),
            reason: "the Redis server, at `values.server.host` and `values.server.port`".to_owned(),
        }]
    }

    fn create(request: CreateRequest<RedisInputs>) -> Result<State, Failure> {
        let inputs = &request.inputs.given;
        inputs.validate()?;
        let identity = Identity::of(&request.resource, None);
        Work { inputs, identity, until: Deadline::of_call(request.call.deadline) }.create()
    }

    fn delete(request: DeleteRequest<RedisInputs>) -> Result<(), Failure> {
        let inputs = &request.inputs.parse()?;
        let identity = Identity::of(&request.resource, Some(&request.state.id));
        Work { inputs, identity, until: Deadline::of_call(request.call.deadline) }.delete()
    }
}

impl Check for Redis {
    fn check(request: CheckRequest<RedisInputs>) -> Result<Checked, Failure> {
        let mut inputs = request.inputs;
        inputs::objects(&inputs)?;
        inputs::normalise(&mut inputs, &request.resource);
        match inputs.known()? {
            Some(known) => known.validate()?,
            None => inputs::shape(&inputs)?,
        }
        Ok(Checked::unchanged(inputs))
    }
}

impl Name for Redis {
    fn name(request: NameRequest<RedisInputs>) -> Result<String, Failure> {
        Ok(request.inputs.values.user.name.clone())
    }
}

impl Read for Redis {
    fn read(request: ReadRequest<RedisInputs>) -> Result<Option<Observed>, Failure> {
        let inputs = &request.inputs.parse()?;
        let identity = Identity::of(&request.resource, request.id.as_deref());
        let work = Work { inputs, identity, until: Deadline::of_call(request.call.deadline) };
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
        let moves = ["/values/server/host", "/values/server/port"];
        let fixed = moves.iter().chain(&["/values/user/name"]);
        let fixed = fixed.filter(|pointer| request.changes(pointer));
        impact.replaces = fixed.map(|pointer| (*pointer).to_owned()).collect();
        // The new place may be the old one by another name, and a name can be given once.
        let is_renamed = request.changes("/values/user/name");
        impact.delete_before_replace = !is_renamed || moves.iter().any(|pointer| request.changes(pointer));
        if impact.replaces.is_empty() {
            impact.stable_outputs = ["host", "port", "username"].map(str::to_owned).to_vec();
            if !request.changes("/secrets/user_password") {
                impact.stable_outputs.push("password".to_owned());
            }
        }
        Ok(impact)
    }
}

impl Update for Redis {
    fn update(request: UpdateRequest<RedisInputs>) -> Result<State, Failure> {
        let inputs = &request.after.given;
        inputs.validate()?;
        let id = request.state.id.as_str();
        let identity = Identity::of(&request.resource, Some(id));
        Work { inputs, identity, until: Deadline::of_call(request.call.deadline) }.update(id)
    }
}

purlin_sdk::export!(Redis);

#[cfg(test)]
mod tests;
