//! The differences between the documents that contain placeholders. The syntax of paths is the
//! same.

/// The dialect of placeholders (SPEC §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Definitions, and the placeholders of a Deployment itself: roots `context`, `resources` (by
    /// descriptor or selector), `values`, `params` and `manifest`; `$\{x}` is a literal `${x}`.
    Definition,
    /// Definitions in the envelopes of Humanitec: as [`Definition`](Self::Definition), but `.values`
    /// of a resource are its outputs.
    Humanitec,
    /// Definitions with `requires`: as [`Definition`](Self::Definition), and the root `bundle`, from which only
    /// `bundle.dependencies.NAME.outputs.OUTPUT` can be read.
    Requiring,
    /// Score files: roots `metadata` and `resources` (by the name the workload gave); `$$` is a
    /// literal `$`.
    Score,
    /// Deployment Sets: roots `externals`, `shared`, `values`, `context`, and `resources` by name
    /// as in Score; `$\{x}` is a literal `${x}`.
    DeploymentSet,
    /// Bundles: roots `bundle`, `installation`, `outputs` and `context`; `$\{x}` is a literal
    /// `${x}`. A parameter or a credential reads as `params.parameters.X` or
    /// `params.credentials.X`, and an output of a requirement as one of a resource with the
    /// requirement's name.
    Bundle,
}

impl Dialect {
    /// The roots of placeholders, each with an example.
    pub(crate) fn roots(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Definition | Self::Humanitec => &[
                ("context", "${context.app.id}"),
                ("resources", "${resources['dns'].outputs.host}"),
                ("values", "${values.NAME}"),
                ("params", "${params.NAME}"),
                ("manifest", "${manifest.kind}"),
            ],
            Self::Requiring => &[
                ("context", "${context.app.id}"),
                ("resources", "${resources['dns'].outputs.host}"),
                ("values", "${values.NAME}"),
                ("params", "${params.NAME}"),
                ("manifest", "${manifest.kind}"),
                ("bundle", "${bundle.dependencies.NAME.outputs.OUTPUT}"),
            ],
            Self::Score => &[("metadata", "${metadata.name}"), ("resources", "${resources.NAME.OUTPUT}")],
            Self::Bundle => &[
                ("bundle", "${bundle.parameters.NAME}"),
                ("installation", "${installation.name}"),
                ("outputs", "${outputs.NAME}"),
                ("context", "${context.env.id}"),
            ],
            Self::DeploymentSet => &[
                ("externals", "${externals.NAME.OUTPUT}"),
                ("shared", "${shared.NAME.OUTPUT}"),
                ("values", "${values.NAME}"),
                ("context", "${context.app.id}"),
                ("resources", "${resources.NAME.OUTPUT}"),
            ],
        }
    }

    /// How to write a literal `${`.
    pub fn escaped(self) -> &'static str {
        match self {
            Self::Score => "$${",
            Self::Definition | Self::Humanitec | Self::Requiring | Self::DeploymentSet | Self::Bundle => {
                "$\\{"
            }
        }
    }
}
