//! The results of a deployment (SPEC §5, §11), from the records alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_engine::{WorkloadError, workload_document};
use purlin_model::driver::ManifestFile;
use purlin_model::{FORMAT, Key, Value};
use purlin_state::Record;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

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

/// The published, versioned form: that of `purlin outputs --format json`. Secrets appear as
/// `[secret]`.
impl Serialize for Outputs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |(name, document): (&String, &Result<Value, _>)| {
            Some((name.clone(), document.as_ref().ok()?.redact()))
        };
        let workloads: BTreeMap<_, _> = self.workloads.iter().filter_map(of).collect();
        let resources: BTreeMap<_, _> =
            self.resources.iter().map(|(key, outputs)| (key.to_string(), outputs.redact())).collect();
        let errors = self.workloads.values().filter_map(|document| document.as_ref().err());
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        let mut fields = serializer.serialize_struct("Outputs", 3 + usize::from(!errors.is_empty()))?;
        fields.serialize_field("format", &FORMAT)?;
        fields.serialize_field("workloads", &workloads)?;
        fields.serialize_field("resources", &resources)?;
        match errors.is_empty() {
            true => fields.skip_field("errors")?,
            false => fields.serialize_field("errors", &errors)?,
        }
        fields.end()
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
