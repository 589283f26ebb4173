//! The driver purlin/kubernetes: objects of a Kubernetes cluster, applied with server-side apply.

mod api;
mod check;
mod discovery;
mod immutable;
mod impact;
mod inputs;
mod live;
mod look;
mod object;
mod observe;
mod provision;
mod ready;
mod remove;
mod wait;

use std::cell::Cell;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest, Json,
    Observed, Read, ReadRequest, RequestedCapability, State, TypeSchema, Update, UpdateImpact, UpdateRequest,
};

use api::Api;
use inputs::{KubernetesInputs, KubernetesOutputs};
use live::{Cookie, Known};
use provision::Task;
use remove::Owner;

/// Objects of a Kubernetes cluster.
pub struct Kubernetes;

impl Driver for Kubernetes {
    const NAME: &str = "purlin/kubernetes";
    const DESCRIPTION: &str = "Objects of a Kubernetes cluster, applied server-side and watched until ready.";
    /// An object of an earlier attempt is recognised by its mark, and applying it again changes
    /// nothing.
    const REPEAT_CREATE: bool = true;
    type Inputs = KubernetesInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<KubernetesInputs, KubernetesOutputs>("*")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "http".to_owned(),
            pattern: None,
            reason:
                "the API server of the cluster, `connection.server`, with the methods GET, PATCH and DELETE"
                    .to_owned(),
        }]
    }

    fn create(request: CreateRequest<KubernetesInputs>) -> Result<State, Failure> {
        Task {
            inputs: &request.inputs.given,
            guresid: &request.subject.guresid,
            recorded: None,
            before: None,
            secrets_seen: Cell::default(),
            digest: None,
            cookie: Cookie::begin(&request.call),
            call: &request.call,
        }
        .run()
    }

    fn delete(request: DeleteRequest<KubernetesInputs>) -> Result<(), Failure> {
        let inputs = request.inputs.parse()?;
        let known = Known::recorded(&request.state)?;
        let api = Api::new(&inputs, &request.call);
        let namespace = &inputs.values.namespace;
        let cookie = Cookie::of(&request.state);
        let owner = Owner { guresid: &request.subject.guresid, cookie: &cookie };
        match remove::all(&api, &known, owner, namespace, &inputs.values.delete, wait::MOMENT)? {
            Some(going) => Err(going.pending()),
            None => Ok(()),
        }
    }
}

impl Check for Kubernetes {
    fn check(request: CheckRequest<KubernetesInputs>) -> Result<Checked, Failure> {
        check::validate(&request.inputs)?;
        let mut inputs = request.inputs;
        check::normalise(&mut inputs);
        let unfit = check::label(&mut inputs, &request.subject.context.labels);
        let fleeting = check::fleeting(&inputs);
        let warned = |checked: Checked, place: String| {
            checked.warning(
                place,
                "the cluster deletes the job by itself; the next run then creates and runs it again",
            )
        };
        let checked = fleeting.into_iter().fold(Checked::unchanged(inputs), warned);
        Ok(unfit.into_iter().fold(checked, |checked, label| {
            let message = format!("the operator's label `{label}` is not valid in Kubernetes, and left out");
            checked.warning("/values", message)
        }))
    }
}

impl Read for Kubernetes {
    fn read(request: ReadRequest<KubernetesInputs>) -> Result<Option<Observed>, Failure> {
        look::read(&request)
    }
}

impl UpdateImpact for Kubernetes {
    fn update_impact(request: ImpactRequest<KubernetesInputs>) -> Result<Impact, Failure> {
        Ok(impact::of(&request))
    }
}

impl Update for Kubernetes {
    fn update(request: UpdateRequest<KubernetesInputs>) -> Result<State, Failure> {
        let known = Known::recorded(&request.state)?;
        Task {
            inputs: &request.after.given,
            guresid: &request.subject.guresid,
            recorded: Some((&request.state.id, known)),
            before: Some(request.before.document()),
            secrets_seen: Cell::default(),
            digest: request.state.outputs.get("digest").and_then(Json::as_str),
            cookie: Cookie::of(&request.state),
            call: &request.call,
        }
        .run()
    }
}

purlin_sdk::export!(Kubernetes);

#[cfg(test)]
mod tests;
