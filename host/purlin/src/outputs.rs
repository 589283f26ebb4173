//! The results of a deployment (SPEC §5, §11), from the records alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_engine::{WorkloadError, workload_document};
use purlin_model::driver::ManifestFile;
use purlin_model::{FORMAT, Key, Value};
use purlin_state::Record;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::promoted::Recorded;

/// The results of a deployment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Outputs {
    /// The resolved document of each workload.
    pub workloads: BTreeMap<String, Result<Value, WorkloadError>>,
    /// The outputs of each resource.
    pub resources: BTreeMap<Key, Value>,
    /// The manifests that drivers returned, ordered by key.
    pub manifests: Vec<(Key, ManifestFile)>,
}

/// The published, versioned form of outputs: that of `purlin outputs --format json`.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct OutputsReport {
    /// The version of the form.
    pub format: u8,
    /// The document of each workload.
    pub workloads: serde_json::Map<String, Json>,
    /// The outputs of each resource, by key.
    pub resources: serde_json::Map<String, Json>,
    /// Why workloads have no document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

impl Outputs {
    /// The published form, with each value as `shown` writes it: masked ([`Value::redact`]), or with its
    /// secrets ([`Value::reveal`]).
    pub fn report(&self, shown: impl Fn(&Value) -> Json) -> OutputsReport {
        let mut report = OutputsReport { format: FORMAT, ..OutputsReport::default() };
        for (name, document) in &self.workloads {
            match document {
                Ok(document) => drop(report.workloads.insert(name.clone(), shown(document))),
                Err(error) => report.errors.push(error.to_string()),
            }
        }
        report.resources =
            self.resources.iter().map(|(key, outputs)| (key.to_string(), shown(outputs))).collect();
        report
    }
}

/// The published form. Secrets appear as `[secret]`.
impl Serialize for Outputs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.report(Value::redact).serialize(serializer)
    }
}

/// Collects the results from the records of one environment.
pub fn outputs(records: &[Arc<Record>]) -> Outputs {
    let mut outputs = Outputs::default();
    let recorded = Recorded::new(records);
    let mut sorted: Vec<(Key, &Record)> =
        records.iter().filter_map(|record| Some((record.urn.key()?, &**record))).collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    for (key, record) in sorted {
        match workload_document(record) {
            None => {}
            Some(Ok(workload)) => {
                outputs.workloads.insert(workload.name, Ok(workload.document));
            }
            Some(Err(error)) => {
                outputs.workloads.insert(error.workload.clone(), Err(error));
            }
        }
        let manifests = record.state.manifests.iter().cloned();
        outputs.manifests.extend(manifests.map(|manifest| (key.clone(), manifest)));
        outputs.resources.insert(key, recorded.outputs(record));
    }
    outputs
}
