//! Shares equal texts between records.

use std::collections::HashSet;
use std::sync::Arc;

use purlin_model::Urn;
use purlin_model::driver::Inputs;

use crate::{DriverVersion, Record};

/// The texts seen so far.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    texts: HashSet<Arc<str>>,
    urns: HashSet<Urn>,
    drivers: HashSet<Arc<DriverVersion>>,
}

impl Pool {
    /// Makes a record share equal texts with others: the driver and the definition, its
    /// dependencies, and the names of its inputs and outputs. Values may be secret and are not
    /// shared between records, but values that are equal in the inputs, params and outputs of one
    /// record are stored once.
    pub fn share(&mut self, record: &mut Record) {
        match self.drivers.get(&record.driver) {
            Some(known) => record.driver = Arc::clone(known),
            None => {
                self.drivers.insert(Arc::clone(&record.driver));
            }
        }
        self.text(&mut record.deployment);
        for text in [&mut record.definition, &mut record.holds_data].into_iter().flatten() {
            self.text(text);
        }
        let others = record
            .dependencies
            .iter_mut()
            .chain(&mut record.deleted_with)
            .chain(&mut record.perhaps_deleted_with);
        for urn in std::iter::once(&mut record.urn).chain(others) {
            match self.urns.get(urn) {
                Some(known) => urn.clone_from(known),
                None => {
                    self.urns.insert(urn.clone());
                }
            }
        }
        let inputs = &mut record.inputs;
        for value in
            [&mut inputs.values, &mut inputs.params, &mut inputs.connection, &mut record.state.outputs]
        {
            value.share_names(&mut |name| self.text(name));
        }
        // The inputs are usually the params, and the outputs often repeat them.
        let Inputs { values, params, .. } = inputs;
        params.share_with(values);
        record.state.outputs.share_with(values);
    }

    fn text(&mut self, text: &mut Arc<str>) {
        match self.texts.get(text) {
            Some(known) => text.clone_from(known),
            None => {
                self.texts.insert(Arc::clone(text));
            }
        }
    }
}
