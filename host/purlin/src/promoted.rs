//! Promoted outputs: those that an installation makes from the outputs of its requirements (SPEC §6). They are not
//! recorded: they are computed from what is, so that they are never older than that.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use purlin_expression::{Scope, Unread, evaluate, read_template};
use purlin_model::{Access, ContextField, Diagnostic, Key, Path, Placeholder, Reference, Urn, Value};
use purlin_state::{Environment, Record};

use crate::{Error, Purlin};

/// An installation that requires an installation that requires …: no deeper than this. Records that refer to one
/// another in a loop are nothing that Purlin writes.
const DEEPEST: usize = 64;

/// The current records of an environment.
pub(crate) struct Recorded<'a> {
    records: HashMap<Key, &'a Record>,
    /// All outputs of the installations that promote some, each computed once: every level may read the next twice.
    known: RefCell<HashMap<Urn, Value>>,
}

impl<'a> Recorded<'a> {
    pub(crate) fn new(records: &'a [Arc<Record>]) -> Self {
        let current = records.iter().filter(|record| record.superseded.is_none());
        let records = current.filter_map(|record| Some((record.urn.key()?, &**record))).collect();
        Self { records, known: RefCell::default() }
    }

    /// All outputs of a record: those that its driver said, and what is made from those of others. What cannot be
    /// made, as something is missing, is left out.
    pub(crate) fn outputs(&self, record: &Record) -> Value {
        self.outputs_within(record, DEEPEST)
    }

    fn outputs_within(&self, record: &Record, depth: usize) -> Value {
        let own = &record.state.outputs;
        let Some(share) = record.share.as_ref().filter(|share| !share.promoted.is_empty() && depth > 0)
        else {
            return own.clone();
        };
        if let Some(known) = self.known.borrow().get(&record.urn) {
            return known.clone();
        }
        let mut outputs = own.as_map().cloned().unwrap_or_default();
        let scope = Within { recorded: self, record, depth: depth - 1 };
        for (name, written) in &share.promoted {
            let made = read_template(written).and_then(|template| evaluate(&template, &scope).ok().flatten());
            if let Some(value) = made {
                outputs.insert(Arc::clone(name), value);
            }
        }
        let outputs = Value::Map(outputs);
        self.known.borrow_mut().insert(record.urn.clone(), outputs.clone());
        outputs
    }
}

/// What the words of one record mean.
struct Within<'a> {
    recorded: &'a Recorded<'a>,
    record: &'a Record,
    depth: usize,
}

impl Scope for Within<'_> {
    fn read(&self, placeholder: &Placeholder) -> Result<Value, Unread> {
        let found = match &placeholder.reference {
            Reference::Resource(descriptor, Access::Outputs(path)) => {
                let of = descriptor.absolute().and_then(|key| self.recorded.records.get(&key));
                of.and_then(|record| at(&self.recorded.outputs_within(record, self.depth), path))
            }
            Reference::Param(path) => at(&self.record.inputs.params, path),
            Reference::Context(field) => self.context(*field),
            _ => None,
        };
        found.ok_or_else(|| {
            let message = format!("{} reads what is not recorded", placeholder.source());
            Unread::Absent(Box::new(Diagnostic::error("not-recorded", message)))
        })
    }
}

impl Within<'_> {
    /// What a record tells of its context, which is all but the type of its environment.
    fn context(&self, field: ContextField) -> Option<Value> {
        let Record { urn, share, deployment, .. } = self.record;
        let (environment, key) = (Environment::of_urn(urn)?, urn.key()?);
        Some(match field {
            ContextField::OrgId => (&*environment.org).into(),
            ContextField::AppId => (&*environment.app).into(),
            ContextField::EnvId => (&*environment.env).into(),
            ContextField::EnvType => return None,
            ContextField::Namespace => (&*share.as_ref()?.namespace).into(),
            ContextField::DeployId => (&**deployment).into(),
            ContextField::ResId => key.id().into(),
            ContextField::ResType => key.type_name().into(),
            ContextField::ResClass => key.class().into(),
            ContextField::ResGuresid => urn.guresid().as_str().into(),
        })
    }
}

fn at(value: &Value, path: &Path) -> Option<Value> {
    path.0.iter().try_fold(value.clone(), |value, segment| value.get(segment))
}

impl Purlin {
    /// All outputs of a record of any environment.
    ///
    /// # Errors
    /// [`Error::State`] when its environment cannot be read.
    pub(crate) async fn outputs_of(&self, record: &Record) -> Result<Value, Error> {
        let is_promoted = record.share.as_ref().is_some_and(|share| !share.promoted.is_empty());
        match Environment::of_urn(&record.urn).filter(|_| is_promoted) {
            None => Ok(record.state.outputs.clone()),
            Some(environment) => {
                let snapshot = self.snapshot(&environment).await?;
                Ok(Recorded::new(&snapshot.records).outputs(record))
            }
        }
    }
}
