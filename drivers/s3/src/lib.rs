//! The built-in driver purlin/s3: buckets, their policies, and objects, in S3 and in compatible
//! servers.

mod api;
mod bucket;
mod check;
mod empty;
mod inputs;
mod object;
mod policy;
mod settings;

use purlin_sdk::{
    Call, Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Faults, Forecast,
    Impact, ImpactRequest, Json, Name, NameRequest, Observed, Preview, PreviewRequest, Raw, Read,
    ReadRequest, RequestedCapability, State, TypeSchema, Update, UpdateImpact, UpdateRequest,
};

use api::S3;
use bucket::Known;
use inputs::{Connection, Endpoint, KINDS, S3Inputs, S3Outputs, Thing};

/// Buckets, their policies, and objects.
pub struct Driven;

impl Driver for Driven {
    const NAME: &str = "purlin/s3";
    const DESCRIPTION: &str = "Buckets, their policies and objects, in S3 and S3-compatible servers.";
    /// An object of an earlier attempt is recognised by its mark, its name or its content.
    const REPEAT_CREATE: bool = true;
    type Inputs = S3Inputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<S3Inputs, S3Outputs>("*")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "http".to_owned(),
            pattern: Some("https://*.amazonaws.com".to_owned()),
            reason: "S3, or the server at `connection.endpoint.url` instead".to_owned(),
        }]
    }

    fn create(request: CreateRequest<S3Inputs>) -> Result<State, Failure> {
        let thing = request.inputs.thing()?;
        let s3 = s3(&request.call, &request.inputs)?;
        match &thing {
            Thing::Bucket(bucket) => bucket::create(&request, &s3, bucket),
            Thing::Policy(policy) => policy::create(&request, &s3, policy),
            Thing::Object(object) => object::create(&request, &s3, object),
        }
    }

    fn delete(request: DeleteRequest<S3Inputs>) -> Result<(), Failure> {
        let s3 = from_raw(&request.call, &request.inputs)?;
        let guresid = &request.subject.guresid;
        match Id::of(&request.state.id) {
            Id::Bucket(name) => bucket::delete(&s3, name, &request.inputs, guresid),
            Id::Policy(bucket) => policy::delete(&s3, bucket),
            Id::Object(bucket, key) => object::delete(&s3, bucket, key, guresid),
        }
    }
}

impl Check for Driven {
    fn check(request: CheckRequest<S3Inputs>) -> Result<Checked, Failure> {
        check::check(request)
    }
}

/// The name is the id: both are S3's name for the thing.
impl Name for Driven {
    fn name(request: NameRequest<S3Inputs>) -> Result<String, Failure> {
        Ok(match request.inputs.thing()? {
            Thing::Bucket(bucket) => bucket.name().to_owned(),
            Thing::Policy(policy) => policy::id(&policy.bucket),
            Thing::Object(object) => object::id(&object.bucket, &object.key),
        })
    }
}

impl Read for Driven {
    fn read(request: ReadRequest<S3Inputs>) -> Result<Option<Observed>, Failure> {
        let s3 = from_raw(&request.call, &request.inputs)?;
        let known = match (&request.id, &request.state) {
            (Some(_), Some(_)) => Known::Recorded,
            (Some(_), None) => Known::Named,
            (None, _) => Known::Not,
        };
        let guresid = &request.subject.guresid;
        let inputs = &request.inputs;
        let id = request.id.as_ref().unwrap_or(&request.name);
        if known == Known::Named {
            Id::of(id).validate(id)?;
        }
        match Id::of(id) {
            Id::Bucket(name) => bucket::read(&s3, name, inputs, guresid, known),
            Id::Policy(bucket) => policy::read(&s3, bucket, inputs, known == Known::Not),
            Id::Object(bucket, key) => object::read(&s3, (bucket, key), inputs, guresid, known),
        }
    }
}

impl UpdateImpact for Driven {
    fn update_impact(request: ImpactRequest<S3Inputs>) -> Result<Impact, Failure> {
        let mut impact = Impact { replaces: request.switches(KINDS), ..Impact::default() };
        // A name is unique: in a region, and among all buckets. Another URL may be of the same
        // server.
        let places = [
            "/values/bucket/name",
            "/values/bucket_policy/bucket",
            "/values/object/bucket",
            "/values/object/key",
        ];
        impact.delete_before_replace = !places.iter().any(|place| request.changes(place));
        impact.keep(&request.state, ["bucket", "region", "arn", "url", "domain", "key"]);
        Ok(impact)
    }
}

impl Update for Driven {
    fn update(request: UpdateRequest<S3Inputs>) -> Result<State, Failure> {
        let thing = request.after.thing()?;
        let s3 = s3(&request.call, &request.after)?;
        match &thing {
            Thing::Bucket(bucket) => bucket::update(&request, &s3, bucket),
            Thing::Policy(policy) => policy::update(&request, &s3, policy),
            Thing::Object(object) => object::update(&request, &s3, object),
        }
    }
}

/// Names, ARNs and URLs follow from the inputs, whatever the credentials and the other settings are.
impl Preview for Driven {
    fn preview(request: PreviewRequest<S3Inputs>) -> Result<Forecast, Failure> {
        const ENDPOINT: &str = "/connection/endpoint";
        let Some(inputs) = request.after().filter(|inputs| !inputs.is_unknown(ENDPOINT)) else {
            return Ok(Forecast::default());
        };
        let endpoint = match inputs.is_given(ENDPOINT) {
            true => inputs.part::<Endpoint>(ENDPOINT)?.aws(),
            false => Default::default(),
        };
        let known = |place: &str| inputs.get_known(place).and_then(Json::as_str);
        let object = || Some((known("/values/object/bucket")?, known("/values/object/key")?));
        let outputs = if let Some(name) = known("/values/bucket/name") {
            bucket::outputs(&endpoint, name)
        } else if let Some(bucket) = known("/values/bucket_policy/bucket") {
            policy::outputs(&endpoint, bucket)
        } else if let Some((bucket, key)) = object() {
            object::outputs(&endpoint, bucket, key)
        } else {
            return Ok(Forecast::default());
        };
        Forecast::default().described_outputs(&outputs)
    }
}

purlin_sdk::export!(Driven with preview);

/// The thing that an id names.
enum Id<'a> {
    Bucket(&'a str),
    Policy(&'a str),
    Object(&'a str, &'a str),
}

impl<'a> Id<'a> {
    /// Names of buckets have neither `?` nor `/`.
    fn of(id: &'a str) -> Self {
        match (id.split_once('/'), id.strip_suffix(policy::SUFFIX)) {
            (Some((bucket, key)), _) => Self::Object(bucket, key),
            (None, Some(bucket)) => Self::Policy(bucket),
            (None, None) => Self::Bucket(id),
        }
    }

    /// Rejects a text from a person that cannot be an id, and could lead elsewhere.
    fn validate(&self, id: &str) -> Result<(), Failure> {
        let mut faults = Faults::default();
        let (Self::Bucket(bucket) | Self::Policy(bucket) | Self::Object(bucket, _)) = self;
        check::name(bucket, "", &mut faults);
        if let Self::Object(_, key) = self {
            check::key(key, &mut faults);
        }
        if faults.is_empty() {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "`{id}` is not an id of this driver: an id is the name of a bucket, `NAME?policy` of its policy, or `NAME/KEY` \
             of an object"
        )))
    }
}

fn s3(call: &Call, inputs: &S3Inputs) -> Result<S3, Failure> {
    S3::new(call, inputs.connection.aws())
}

fn from_raw(call: &Call, raw: &Raw<S3Inputs>) -> Result<S3, Failure> {
    S3::new(call, raw.part::<Connection>("/connection")?.aws())
}

#[cfg(test)]
mod tests;
