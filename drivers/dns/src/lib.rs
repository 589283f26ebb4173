//! The built-in driver purlin/dns: zones and records on a PowerDNS server.

mod inputs;
mod mark;
mod names;
mod records;
mod server;
mod zone;

use purlin_sdk::{
    Call, Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest,
    Name, NameRequest, Observed, Read, ReadRequest, RequestedCapability, State, Subject, TypeSchema, Update,
    UpdateImpact, UpdateRequest,
};
use serde_json::json;

use inputs::{DnsInputs, DnsOutputs, Target};
use records::RrsetId;
use server::Api;

/// A zone or a set of records on a PowerDNS server.
pub struct Dns;

/// The subject of one call.
struct DnsOperation<'a> {
    inputs: &'a DnsInputs,
    subject: &'a Subject,
    api: Api,
}

impl<'a> DnsOperation<'a> {
    fn new(inputs: &'a DnsInputs, subject: &'a Subject, call: &Call) -> Self {
        Self { inputs, subject, api: Api::new(inputs, subject, call) }
    }
}

impl Driver for Dns {
    const NAME: &str = "purlin/dns";
    const DESCRIPTION: &str = "Zones and records on a PowerDNS server, by its HTTP API.";
    /// An object of an earlier attempt has the resource's mark.
    const REPEAT_CREATE: bool = true;
    type Inputs = DnsInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<DnsInputs, DnsOutputs>("*")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "http".to_owned(),
            pattern: None,
            reason: "the server's API: `GET,POST,PUT,PATCH,DELETE URL/api/v1/servers/*`".to_owned(),
        }]
    }

    fn create(request: CreateRequest<DnsInputs>) -> Result<State, Failure> {
        let inputs = &request.inputs.given;
        let work = DnsOperation::new(inputs, &request.subject, &request.call);
        let target = inputs.target()?;
        let id = inputs.id(&target);
        match &target {
            Target::Zone { name, zone } => work.create_zone(name, zone),
            Target::Records { zone, name, kind, records } => {
                work.create_records(&RrsetId { zone, name, kind }, records, &id)
            }
        }
    }

    fn delete(request: DeleteRequest<DnsInputs>) -> Result<(), Failure> {
        let inputs = request.inputs.parse()?;
        let work = DnsOperation::new(&inputs, &request.subject, &request.call);
        match &inputs.target()? {
            Target::Zone { name, zone } => work.delete_zone(name, zone),
            Target::Records { zone, name, kind, .. } => work.delete_records(&RrsetId { zone, name, kind }),
        }
    }
}

impl Check for Dns {
    fn check(request: CheckRequest<DnsInputs>) -> Result<Checked, Failure> {
        let mut inputs = request.inputs.without_nulls();
        if let Some(known) = inputs.known()? {
            known.target()?;
        }
        inputs::normalise(&mut inputs);
        Ok(Checked::unchanged(inputs))
    }
}

/// The name of a zone or of records, without the server.
impl Name for Dns {
    fn name(request: NameRequest<DnsInputs>) -> Result<String, Failure> {
        Ok(request.inputs.target()?.name())
    }
}

impl Read for Dns {
    fn read(request: ReadRequest<DnsInputs>) -> Result<Option<Observed>, Failure> {
        let inputs = request.inputs.parse()?;
        let work = DnsOperation::new(&inputs, &request.subject, &request.call);
        let target = inputs.target()?;
        let id = inputs.id(&target);
        // An id that is not recorded may come from a person, who need not write it in full.
        if let (Some(given), None) = (&request.id, &request.state)
            && *given != id
            && *given != target.name()
            && format!("{given}.") != target.name()
        {
            return Err(Failure::failed(format!("the inputs name `{id}`, and not `{given}`")));
        }
        let by_name = request.id.is_none();
        let (found, part) = match &target {
            Target::Zone { name, zone } => (work.read_zone(name, zone, by_name)?, "zone"),
            Target::Records { zone, name, kind, .. } => {
                (work.read_records(&RrsetId { zone, name, kind }, &id, by_name)?, "records")
            }
        };
        let Some((mut state, values)) = found else { return Ok(None) };
        if let Some(recorded) = &request.state {
            state.id.clone_from(&recorded.id);
        }
        Observed::new(state, json!({part: values})).map(Some)
    }
}

impl UpdateImpact for Dns {
    fn update_impact(request: ImpactRequest<DnsInputs>) -> Result<Impact, Failure> {
        let replaces = request.switches(["/values/zone", "/values/records"]);
        let mut impact = Impact { replaces, ..Impact::default() };
        // If the id stays the same, the new object would be the old one.
        let id = request.after.known()?.and_then(|after| after.target().ok().map(|target| after.id(&target)));
        impact.delete_before_replace = id.as_ref() == Some(&request.state.id);
        impact.keep(&request.state, ["name", "fqdn", "zone", "type"]);
        Ok(impact)
    }
}

impl Update for Dns {
    fn update(request: UpdateRequest<DnsInputs>) -> Result<State, Failure> {
        let inputs = &request.after.given;
        let work = DnsOperation::new(inputs, &request.subject, &request.call);
        let target = inputs.target()?;
        if inputs.id(&target) != request.state.id {
            return Err(Failure::input("/values", "a zone or a record cannot be moved, only replaced"));
        }
        match &target {
            Target::Zone { name, zone } => work.update_zone(name, zone, &request.state),
            Target::Records { zone, name, kind, records } => {
                work.update_records(&RrsetId { zone, name, kind }, records, &request.state.id)
            }
        }
    }
}

purlin_sdk::export!(Dns);

#[cfg(test)]
mod tests;
