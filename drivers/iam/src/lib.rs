//! The built-in driver purlin/iam: policies, roles, users and their connections in AWS IAM.

mod api;
mod attached;
mod attachment;
mod check;
mod inline;
mod inputs;
mod keys;
mod named;
mod policy;
mod role;
mod user;

use purlin_sdk::{
    Call, Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Forecast, Impact,
    ImpactRequest, Json, Name, NameRequest, Observed, Preview, PreviewRequest, Raw, Read, ReadRequest,
    RequestedCapability, State, TypeSchema, Update, UpdateImpact, UpdateRequest,
};
use purlin_sdk_aws::tags::{MARK, not_another_s};

use api::Iam;
use attachment::Pair;
use inputs::{Connection, IamInputs, IamOutputs, KINDS, Thing};
use named::{Known, Named};

/// Policies, roles, users and their connections.
pub struct Driven;

impl Driver for Driven {
    const NAME: &str = "purlin/iam";
    const DESCRIPTION: &str = "Policies, roles, users and attachments in AWS IAM.";
    /// An object of an earlier attempt is recognised by its mark, its name or its content.
    const REPEAT_CREATE: bool = true;
    type Inputs = IamInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<IamInputs, IamOutputs>("*")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "http".to_owned(),
            pattern: Some("https://*.amazonaws.com".to_owned()),
            reason: "IAM, or the server at `connection.endpoint.url` instead".to_owned(),
        }]
    }

    fn create(request: CreateRequest<IamInputs>) -> Result<State, Failure> {
        let thing = request.inputs.thing()?;
        let iam = iam(&request.call, &request.inputs)?;
        match &thing {
            Thing::Policy(it) => policy::create(&request, &iam, it),
            Thing::Role(it) => role::create(&request, &iam, it),
            Thing::User(it) => user::create(&request, &iam, it),
            Thing::RolePolicy(it) => inline::create(&iam, it),
            Thing::Attachment(it) => attachment::create(&iam, &Pair::wanted(it)),
        }
    }

    fn delete(request: DeleteRequest<IamInputs>) -> Result<(), Failure> {
        let iam = from_raw(&request.call, &request.inputs)?;
        let raw = &request.inputs;
        let (kind, arn) = match Id::of(&request.state.id)? {
            Id::Named(kind, arn) => (kind, arn),
            Id::Inline(role, name) => return inline::delete(&iam, role, name),
            Id::Attachment(pair) => return attachment::delete(&iam, &pair),
        };
        let Some(found) = named::by_arn(&iam, kind, arn)? else { return Ok(()) };
        // After a rename, the recorded mark differs from the one that the resource would have now.
        let place = format!("/values/{}", kind.people());
        let recorded = raw.get(&format!("{place}/tags/{MARK}")).and_then(Json::as_str).unwrap_or_default();
        let owners = [request.subject.guresid.as_str(), recorded];
        not_another_s(&found.tags, &owners, &format!("the {} `{arn}`", kind.people()))?;
        let managed = raw.get(&format!("{place}/attached_policies")).is_some_and(Json::is_array);
        match kind {
            Named::Policy => policy::delete(&iam, &found),
            Named::Role => role::delete(&iam, &found, managed),
            Named::User => user::delete(&iam, &found, managed, &request.state),
        }
    }
}

impl Check for Driven {
    fn check(request: CheckRequest<IamInputs>) -> Result<Checked, Failure> {
        check::check(request)
    }
}

/// The search name: a name with its kind before it, because a policy and a role may share one.
impl Name for Driven {
    fn name(request: NameRequest<IamInputs>) -> Result<String, Failure> {
        Ok(match request.inputs.thing()? {
            Thing::Policy(it) => format!("policy/{}", it.name()),
            Thing::Role(it) => format!("role/{}", it.name()),
            Thing::User(it) => format!("user/{}", it.name()),
            Thing::RolePolicy(it) => inline::id(&it.role, &it.name),
            Thing::Attachment(it) => Pair::wanted(&it).id(),
        })
    }
}

impl Read for Driven {
    fn read(request: ReadRequest<IamInputs>) -> Result<Option<Observed>, Failure> {
        let iam = from_raw(&request.call, &request.inputs)?;
        let known = match (&request.id, &request.state) {
            (Some(_), Some(_)) => Known::Recorded,
            (Some(_), None) => Known::Named,
            (None, _) => Known::Not,
        };
        let (raw, guresid) = (&request.inputs, request.subject.guresid.as_str());
        let (kind, found) = match (&request.id, named_kind(&request.name)) {
            (None, Some((kind, name))) if Pair::of(&request.name).is_none() => {
                (kind, named::by_name(&iam, kind, name)?)
            }
            (id, _) => match Id::of(id.as_ref().unwrap_or(&request.name))? {
                Id::Named(kind, arn) => (kind, named::by_arn(&iam, kind, arn)?),
                Id::Inline(role, name) => return inline::read(&iam, (role, name), raw, known == Known::Not),
                Id::Attachment(pair) => return attachment::read(&iam, &pair, raw),
            },
        };
        match kind {
            Named::Policy => policy::read(&iam, found, raw, guresid, known),
            Named::Role => role::read(&iam, found, raw, guresid, known),
            Named::User => user::read(&iam, found, &request, known),
        }
    }
}

impl UpdateImpact for Driven {
    fn update_impact(request: ImpactRequest<IamInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact { replaces: request.switches(KINDS), ..Impact::default() };
        // A name is unique. Another URL may be of the same server.
        let places =
            ["/values/policy/name", "/values/role/name", "/values/user/name", "/values/role_policy/name"];
        impact.delete_before_replace = !places.iter().any(|place| request.changes(place));
        impact.keep(&request.state, ["arn", "name", "id", "role", "user", "policy_arn"]);
        Ok(impact)
    }
}

impl Update for Driven {
    fn update(request: UpdateRequest<IamInputs>) -> Result<State, Failure> {
        let thing = request.after.thing()?;
        let iam = iam(&request.call, &request.after)?;
        match &thing {
            Thing::Policy(it) => policy::update(&request, &iam, it),
            Thing::Role(it) => role::update(&request, &iam, it),
            Thing::User(it) => user::update(&request, &iam, it),
            Thing::RolePolicy(it) => inline::update(&iam, it),
            // An attachment is nothing but its identity; it may have been detached.
            Thing::Attachment(it) => attachment::create(&iam, &Pair::wanted(it)),
        }
    }
}

/// Names follow from the inputs, and so do the ARNs in them. AWS chooses ids, and the ARN of a new policy, role
/// or user has the number of the account, which no input says.
impl Preview for Driven {
    fn preview(request: PreviewRequest<IamInputs>) -> Result<Forecast, Failure> {
        let Some(inputs) = request.after() else { return Ok(Forecast::default()) };
        let known = |place: &str| inputs.get_known(place).and_then(Json::as_str);
        let named = |kind: &Named| known(&format!("/values/{}/name", kind.people()));
        let inline = || Some((known("/values/role_policy/role")?, known("/values/role_policy/name")?));
        let pair = |kind: Named| {
            let name = known(&format!("/values/attachment/{}", kind.people()))?;
            Some(Pair { kind, name, policy: known("/values/attachment/policy_arn")? })
        };
        let outputs = if let Some(name) = Named::ALL.iter().find_map(named) {
            IamOutputs { name: Some(name.to_owned()), ..IamOutputs::default() }
        } else if let Some((role, name)) = inline() {
            inline::outputs(role, name)
        } else if let Some(pair) = [Named::Role, Named::User].into_iter().find_map(pair) {
            pair.outputs()
        } else {
            return Ok(Forecast::default());
        };
        Forecast::default().described_outputs(&outputs)
    }
}

purlin_sdk::export!(Driven with preview);

/// The object that an id names.
enum Id<'a> {
    Named(Named, &'a str),
    Inline(&'a str, &'a str),
    Attachment(Pair<'a>),
}

impl<'a> Id<'a> {
    fn of(id: &'a str) -> Result<Self, Failure> {
        if let Some(pair) = Pair::of(id) {
            return Ok(Self::Attachment(pair));
        }
        if let ["arn", _, "iam", _, _, rest] = id.split(':').collect::<Vec<_>>().as_slice()
            && let Some((kind, _)) = named_kind(rest)
        {
            return Ok(Self::Named(kind, id));
        }
        match id.split_once(':') {
            Some((role, name)) if !name.contains(':') => Ok(Self::Inline(role, name)),
            _ => Err(Failure::failed(format!(
                "`{id}` is not an id of this driver: an id is the ARN of a policy, role or user, `ROLE:POLICY` of a policy \
                 in a role, or `role/NAME/ARN` or `user/NAME/ARN` of an attachment"
            ))),
        }
    }
}

/// `KIND/NAME`, as in ARNs and in names.
fn named_kind(text: &str) -> Option<(Named, &str)> {
    let (kind, name) = text.split_once('/')?;
    Named::ALL.into_iter().find(|it| it.people() == kind).map(|kind| (kind, name))
}

fn iam(call: &Call, inputs: &IamInputs) -> Result<Iam, Failure> {
    Iam::new(call, inputs.connection.aws())
}

fn from_raw(call: &Call, raw: &Raw<IamInputs>) -> Result<Iam, Failure> {
    Iam::new(call, raw.part::<Connection>("/connection")?.aws())
}

#[cfg(test)]
mod tests;
