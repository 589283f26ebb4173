//! Texts that many records have, kept once.

use std::collections::HashSet;
use std::sync::Arc;

use purlin_model::Urn;
use purlin_model::driver::Inputs;

use crate::{DriverVersion, Record};

/// Texts that were seen so far, for records that have the same.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    texts: HashSet<Arc<str>>,
    urns: HashSet<Urn>,
    drivers: HashSet<Arc<DriverVersion>>,
}

impl Pool {
    /// Has a record share what others have too: the names of what made it, the resources it depends on, and the
    /// names of its inputs and outputs. Their values may be secret, and stay its own; what is the same in its inputs,
    /// params and outputs is held once.
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
        // Inputs are most often the params, and outputs often repeat them.
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
