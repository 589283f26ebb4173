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
    /// The project's name. Another name is another project.
    #[input(replaces, pattern = "^[a-z0-9][a-z0-9-]{0,62}$")]
    pub(crate) name: String,
    /// Where the project is. It cannot move.
    #[input(default, immutable)]
    pub(crate) region: Region,
    /// How many seats it has.
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

/// How to reach the API. It is always the current connection, in `read` and `delete` too.
#[derive(Input)]
pub(crate) struct Connection {
    /// Where the API is, such as `https://api.example/v1`.
    #[input(replaces, pattern = "^https?://[^/?#]+(/[^?#]*)?$")]
    pub(crate) server: String,
    /// The token that the API asks for.
    #[input(secret, min_length = 1)]
    pub(crate) token: String,
}

#[derive(Outputs)]
pub(crate) struct ProjectOutputs {
    /// The project's id in the API.
    pub(crate) id: String,
    /// The project's name.
    pub(crate) name: String,
    /// Where the project is.
    pub(crate) region: Region,
    /// How many seats it has.
    pub(crate) size: u32,
    /// The project's own token, which the API shows only once.
    #[output(secret, write_once)]
    pub(crate) token: Option<String>,
}
