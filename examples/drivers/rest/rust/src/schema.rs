//! The inputs and outputs of the driver. The schemas of both come from these types. Purlin validates inputs,
//! fills in defaults, keeps secrets, and decides which changes replace, so the driver needs no `check` and no
//! `update_impact`.

use purlin_sdk::{Input, Inputs, Outputs};
use serde::Serialize;

/// A project's inputs.
#[derive(Inputs)]
pub struct ProjectInputs {
    pub(crate) values: Values,
    pub(crate) connection: Connection,
}

#[derive(Input, Serialize)]
pub(crate) struct Values {
    /// The project's name. A change replaces the project.
    #[input(replaces, pattern = "^[a-z0-9][a-z0-9-]{0,62}$")]
    pub(crate) name: String,
    /// The region of the project. It cannot be changed.
    #[input(default, immutable)]
    pub(crate) region: Region,
    /// The number of seats.
    #[input(default = 1, min = 1, max = 1000)]
    pub(crate) size: u32,
}

/// A region of the API.
#[derive(Clone, Copy, Debug, Default, Input, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Region {
    #[default]
    Eu,
    Us,
}

/// The current connection to the API, also in `read` and `delete`.
#[derive(Input)]
pub(crate) struct Connection {
    /// The URL of the API, such as `https://api.example/v1`.
    // So a plan names all grants that are missing.
    #[input(reaches = "http", replaces, pattern = "^https?://[^/?#]+(/[^?#]*)?$")]
    #[schemars(extend("x-purlin-methods" = [
        "POST",
        {"method": "GET", "later": true},
        {"method": "PATCH", "later": true},
        {"method": "DELETE", "later": true},
    ]))]
    pub(crate) server: String,
    /// The token of the API.
    #[input(secret, min_length = 1)]
    pub(crate) token: String,
}

#[derive(Outputs)]
pub(crate) struct ProjectOutputs {
    /// The project's id in the API.
    pub(crate) id: String,
    /// The project's name.
    pub(crate) name: String,
    /// The region of the project.
    pub(crate) region: Region,
    /// The number of seats.
    pub(crate) size: u32,
    /// The project's own token, which the API shows only once.
    #[output(secret, write_once)]
    pub(crate) token: Option<String>,
}
