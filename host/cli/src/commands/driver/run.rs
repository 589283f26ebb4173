//! `purlin driver run`

mod answer;
mod request;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use clap::ValueEnum as _;
use purlin_files::reason;
use purlin_host::Examined;
use purlin_model::driver::{Checkpoint, Failure as Failed, Observed, ResourceState};
use purlin_model::{Label, Workspace};
use purlin_sandbox::{
    CallContext, CallError, Change, CheckpointSink, Driver, Effect, Progress, ProgressSink, ReadRequest,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::WorkspaceArg;
use crate::app::App;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use crate::{files, input, text};

use request::Request;

/// Call one function of a driver directly.
///
/// The request is JSON, from a file, from standard input (`-`) or from the options; the response is JSON
/// too. The response of `create` and `update` is a request for the next call. As in a deployment, the
/// inputs are checked against the driver's schema before the call, and get its defaults. The driver has
/// its grants from purlin.yaml. Effects are real, and nothing is written to the state.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin driver run note.wasm describe
  purlin driver run note.wasm check --values '{\"text\": \"Hello.\"}'
  purlin driver run note.wasm create --values '{\"title\": \"a\", \"text\": \"Hello.\"}' > made.json
  purlin driver run note.wasm read made.json
  purlin driver run note.wasm preview made.json --effect delete
  purlin driver run note.wasm delete made.json

A request is an object with: key, context, inputs (values, secrets, params, connection, account,
unknown), before (the inputs of its creation), previous, name, id, state, idempotency_key. Omit
those that the function does not need.

Exit status: 0 success; 1 the driver failed; 2 the request is invalid.")]
pub(crate) struct Args {
    /// The file of a component, or the name of a driver.
    #[arg(value_name = "FILE|NAME")]
    driver: String,

    /// The function to call.
    #[arg(value_name = "FUNCTION")]
    function: Function,

    /// The request; `-` for standard input.
    #[arg(value_name = "REQUEST")]
    request: Option<String>,

    /// Replace `inputs.values` of the request with this JSON.
    #[arg(long, value_name = "JSON")]
    values: Option<String>,

    /// Replace `inputs.secrets` of the request with this JSON.
    #[arg(long, value_name = "JSON")]
    secrets: Option<String>,

    /// Replace `inputs.params` of the request with this JSON.
    #[arg(long, value_name = "JSON")]
    params: Option<String>,

    /// Replace `inputs.connection` of the request with this JSON.
    #[arg(long, value_name = "JSON")]
    connection: Option<String>,

    /// Replace `inputs.account` of the request with this JSON, such as `{"name": "acme-dev"}`.
    #[arg(long, value_name = "JSON")]
    account: Option<String>,

    /// Set the resource, such as `note.default#shared.a`.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Set the provider id, which only `read` takes.
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Set the effect that `preview` foresees: by default `update` for a request with a state, otherwise `create`.
    /// With a state, `create` is that of its replacement.
    #[arg(long, value_name = "EFFECT")]
    effect: Option<Foreseen>,

    /// Show secrets, which the next call needs if they are in its request.
    #[arg(long)]
    show_secrets: bool,

    #[command(flatten)]
    workspace: WorkspaceArg,
}

/// A function of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Function {
    Describe,
    Check,
    Name,
    Create,
    Read,
    UpdateImpact,
    Preview,
    Update,
    Delete,
}

/// An effect that a preview foresees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Foreseen {
    Create,
    Update,
    Delete,
}

impl Function {
    /// The name of the function on the command line.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Rejects options that the function does not take. Ignoring them could make the call do more than
/// the user intended.
fn reject_options(args: &Args) -> Result<(), Failure> {
    let given = [
        ("a request", args.request.is_some()),
        ("`--values`", args.values.is_some()),
        ("`--secrets`", args.secrets.is_some()),
        ("`--params`", args.params.is_some()),
        ("`--connection`", args.connection.is_some()),
        ("`--account`", args.account.is_some()),
        ("`--key`", args.key.is_some()),
        ("`--id`", args.id.is_some()),
        ("`--effect`", args.effect.is_some()),
    ];
    let is_taken = |option: &str| match (args.function, option) {
        (Function::Describe, _) => false,
        (function, "`--id`") => function == Function::Read,
        (function, "`--effect`") => function == Function::Preview,
        _ => true,
    };
    let Some((option, _)) = given.into_iter().find(|(option, given)| *given && !is_taken(option)) else {
        return Ok(());
    };
    let hint = match args.function {
        _ if option == "`--effect`" => "only `preview` foresees an effect",
        Function::Delete | Function::Update | Function::UpdateImpact => {
            "it takes the resource from the request: pass what `create` or `read` returned"
        }
        Function::Describe => "it takes only the driver",
        _ => "only `read` takes an id",
    };
    Err(Failure::input(format!("`{}` does not take {option}", args.function.name())).hint(hint))
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    reject_options(args)?;
    let (workspace, sources) = args.workspace.read(app)?.unwrap_or_else(|| {
        (Workspace { folder: app.folder.clone(), ..Workspace::default() }, Default::default())
    });
    let purlin = input::orchestrator(&Workspace { key: None, ..workspace }, app)?;
    let loading = async {
        match super::examined(&args.driver, &purlin) {
            Examined::File(path) => purlin.driver_file(&path).await,
            Examined::Name(name) => purlin.driver(&name).await,
        }
    };
    let loaded = app.timings.wait("load the driver", loading).await;
    let driver = loaded.map_err(|error| Failure::host(error, &sources))?;
    if args.function == Function::Preview && !driver.previews() {
        return Err(Failure::input(format!("the driver `{}` has no preview", driver.name()))
            .hint("it does not export `purlin:preview`"));
    }
    if args.function == Function::Describe {
        app.ui.json(&answer::Described::new(driver.info()));
        return Ok(Status::Done);
    }
    let mut request = request(args, &driver)?;
    let foreseen = foreseen(args, &request)?;
    let faults = request.hold(&driver);
    // The inputs of a resource that exists were checked when it was created.
    let is_new =
        !matches!(args.function, Function::Read | Function::Delete) && foreseen != Some(Foreseen::Delete);
    if is_new && !faults.is_empty() {
        return Err(Failure::documents(faults, sources));
    }
    let answered = app.timings.wait("call the driver", watched(args, &driver, &request, foreseen, app)).await;
    let (mut answer, status) = match answered {
        Ok(answer) => (answer, Status::Done),
        Err(error) => {
            let error = match error {
                CallError::Failure(Failed::Partial { state, problem }) => {
                    let state = request::sealed(driver.info(), &request.subject.key, *state);
                    CallError::Failure(Failed::Partial { state: Box::new(state), problem })
                }
                CallError::Failure(Failed::Pending { state: Some(state), pending }) => {
                    let state = request::sealed(driver.info(), &request.subject.key, *state);
                    CallError::Failure(Failed::Pending { state: Some(Box::new(state)), pending })
                }
                error => error,
            };
            app.ui.error(&text::line(&error.to_string()));
            (answer::failure(&error, args.show_secrets), Status::Failed)
        }
    };
    if matches!(args.function, Function::Create | Function::Update)
        && let Some(answer) = answer.as_object_mut()
    {
        answer.extend(request.again(args.show_secrets));
    }
    if let Some(answer) = answer.as_object_mut() {
        answer.shift_insert(0, "format".to_owned(), crate::report::FORMAT.into());
    }
    app.ui.json(&answer);
    Ok(status)
}

/// The effect that `preview` foresees; none for another function.
fn foreseen(args: &Args, request: &Request) -> Result<Option<Foreseen>, Failure> {
    if args.function != Function::Preview {
        return Ok(None);
    }
    match args.effect {
        Some(Foreseen::Update | Foreseen::Delete) if !request.recorded => {
            Err(Failure::input("the request has no `state`, so there is no resource to update or delete")
                .hint("pass what `create` or `read` returned"))
        }
        None if request.recorded => Ok(Some(Foreseen::Update)),
        effect => Ok(Some(effect.unwrap_or(Foreseen::Create))),
    }
}

/// The request, with the parts that the options replace.
fn request(args: &Args, driver: &Driver) -> Result<Request, Failure> {
    let text = match args.request.as_deref() {
        None => "{}".to_owned(),
        Some("-") => input::standard_text()?,
        Some(file) => files::named_text(file.as_ref()).map_err(|error| {
            Failure::input(format!("cannot read the request `{file}`: {}", reason(&error)))
                .hint("a request is JSON, in a file or on standard input (`-`)")
        })?,
    };
    let what = args.request.as_deref().unwrap_or("the request");
    let mut document = request::json(what, &text)?;
    for (name, option) in [
        ("values", &args.values),
        ("secrets", &args.secrets),
        ("params", &args.params),
        ("connection", &args.connection),
        ("account", &args.account),
    ] {
        if let Some(text) = option {
            let part = request::json(&format!("--{name}"), text)?;
            if let Some(inputs) = request::entry(&mut document, "inputs")? {
                inputs.insert(name.to_owned(), part);
            }
        }
    }
    for (name, option) in [("key", &args.key), ("id", &args.id)] {
        if let (Some(text), Some(document)) = (option, document.as_object_mut()) {
            document.insert(name.to_owned(), Value::from(text.as_str()));
        }
    }
    Request::read(&document, driver.info())
}

/// Calls the driver and shows its progress as it arrives.
async fn watched(
    args: &Args,
    driver: &Driver,
    request: &Request,
    foreseen: Option<Foreseen>,
    app: &App,
) -> Result<Value, CallError> {
    let (sender, mut receiver) = mpsc::unbounded_channel::<Progress>();
    let progress: ProgressSink = Arc::new(move |progress| {
        // The receiver is gone once the call is over.
        let _ = sender.send(progress);
    });
    let say = |progress: Progress| {
        let percent = progress.percent.map(|percent| format!(" ({percent} %)")).unwrap_or_default();
        app.ui.say(&format!("{}{percent}", text::line(&progress.message)));
    };
    let mut call = std::pin::pin!(call(args, driver, request, foreseen, progress, &app.ui));
    let answer = loop {
        tokio::select! {
            Some(progress) = receiver.recv() => say(progress),
            answer = &mut call => break answer,
        }
    };
    while let Ok(progress) = receiver.try_recv() {
        say(progress);
    }
    answer
}

async fn call(
    args: &Args,
    driver: &Driver,
    request: &Request,
    foreseen: Option<Foreseen>,
    progress: ProgressSink,
    ui: &Ui,
) -> Result<Value, CallError> {
    let kept = Arc::new(LastCheckpoint::default());
    // The key of the effect does not exist yet when it is foreseen.
    let key = if foreseen.is_some() { "" } else { &request.key };
    let context = CallContext {
        checkpoint: Some(kept.clone()),
        progress: Some(progress),
        ..CallContext::new(&request.subject, key)
    };
    let Request { inputs, before, previous, .. } = request;
    let (function, show) = (args.function, args.show_secrets);
    let name = match &request.name {
        Some(name) => name.as_str().into(),
        // Unknown inputs have no name yet.
        None if matches!(function, Function::Check | Function::Delete)
            || foreseen == Some(Foreseen::Delete)
            || request.has_unknown() =>
        {
            Label::default()
        }
        None => driver.name_of(&context, inputs).await?,
    };
    let change = || Change { state: &request.state, before, after: inputs, name: name.expose() };
    let sealed = |state| request::sealed(driver.info(), &request.subject.key, state);
    Ok(match function {
        Function::Describe => Value::Null,
        Function::Check => answer::checked(&driver.check(&context, inputs, previous.as_ref()).await?, show),
        Function::Name => json!({"name": driver.name_of(&context, inputs).await?.shown(show)}),
        Function::Create => {
            let state = sealed(driver.create(&context, inputs, name.expose(), None).await?);
            warn_of_outputs(driver, request, &state, ui);
            let mut answer = json!({"state": answer::state(&state, show), "name": name.shown(show)});
            if let (Some(id), Some(answer)) = (kept.id(), answer.as_object_mut()) {
                answer.insert("checkpoint".to_owned(), id.shown(show).into());
            }
            answer
        }
        Function::Read => {
            let recorded = request.recorded.then_some(&request.state);
            let id = request.id.as_deref().or(recorded.map(|state| state.id.expose()));
            let found = driver
                .read(&context, ReadRequest { id, name: name.expose(), inputs, state: recorded, known: &[] })
                .await?;
            let found = found.map(|found| Observed { state: sealed(found.state), ..found });
            answer::observed(found.as_ref(), show)
        }
        Function::UpdateImpact => answer::impact(&driver.update_impact(&context, change()).await?),
        Function::Preview => {
            let state = &request.state;
            let effect = match foreseen.unwrap_or(Foreseen::Create) {
                Foreseen::Create => {
                    let replaces = request.recorded.then_some(&state.id);
                    Effect::Create { inputs, name: name.expose(), replaces }
                }
                Foreseen::Update => Effect::Update(change()),
                Foreseen::Delete => Effect::Delete { state, inputs, data_loss_allowed: false },
            };
            let forecast = driver.preview(&context, effect).await?;
            forecast.map(|forecast| answer::forecast(&forecast, show)).unwrap_or_default()
        }
        Function::Update => {
            let state = sealed(driver.update(&context, change()).await?);
            warn_of_outputs(driver, request, &state, ui);
            json!({"state": answer::state(&state, show), "name": name.shown(show)})
        }
        Function::Delete => {
            driver.delete(&context, (&request.state, true), inputs).await?;
            json!({"deleted": true})
        }
    })
}

/// A deployment would reject these outputs.
fn warn_of_outputs(driver: &Driver, request: &Request, state: &ResourceState, ui: &Ui) {
    for fault in purlin_engine::check_outputs(driver, request.subject.key.type_name(), &state.outputs) {
        ui.warning(&text::line(&fault));
    }
}

/// Keeps the provider id of a checkpoint.
#[derive(Default)]
struct LastCheckpoint(Mutex<Option<Label>>);

impl LastCheckpoint {
    fn id(&self) -> Option<Label> {
        self.0.lock().ok().and_then(|kept| kept.clone())
    }
}

#[async_trait]
impl CheckpointSink for LastCheckpoint {
    async fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        if let Ok(mut kept) = self.0.lock() {
            *kept = Some(checkpoint.id.clone());
        }
        Ok(())
    }
}
