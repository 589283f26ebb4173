//! A driver that cannot find anything again: it neither reads, nor recognises an earlier attempt,
//! nor checkpoints. The outcome of its interrupted calls cannot be determined, which the tests
//! need. Each resource is a file in a granted folder.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use purlin_sdk::{Anything, CreateRequest, DeleteRequest, Driver, Failure, RequestedCapability, State};

/// The granted folder.
const FOLDER: &str = "/data";

/// A driver that cannot find anything again.
pub struct Blind;

impl Driver for Blind {
    const NAME: &str = "acme/blind";
    const DESCRIPTION: &str = "Makes files and never looks at them again.";
    type Inputs = Anything;

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "dirs".to_owned(),
            pattern: None,
            reason: "the folder with what is made, as /data".to_owned(),
        }]
    }

    fn create(request: CreateRequest<Anything>) -> Result<State, Failure> {
        let key = &request.call.idempotency_key;
        let id = format!("{}-{}", request.subject.guresid, key.get(..8).unwrap_or(key));
        fs::create_dir_all(folder()).and_then(|()| fs::write(path(&id), "")).map_err(failed)?;
        State::new(&id).outputs(serde_json::json!({"id": id}))
    }

    fn delete(request: DeleteRequest<Anything>) -> Result<(), Failure> {
        match fs::remove_file(path(&request.state.id)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }
}

purlin_sdk::export!(Blind);

fn folder() -> PathBuf {
    PathBuf::from(FOLDER).join("blind")
}

fn path(id: &str) -> PathBuf {
    folder().join(id)
}

fn failed(error: std::io::Error) -> Failure {
    Failure::failed(error.to_string())
}
