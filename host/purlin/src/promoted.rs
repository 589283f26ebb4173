//! Promoted outputs: outputs that an installation derives from those of its requirements (SPEC §6).
//! They are not recorded but computed from the recorded ones, so that they are never outdated.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use purlin_expression::{Scope, Unread, evaluate, read_template};
use purlin_model::{Access, ContextField, Diagnostic, Key, Path, Placeholder, Reference, Urn, Value};
use purlin_state::{Environment, Record};

use crate::{Error, Purlin};

/// The maximum depth of installations that require each other. Purlin never writes records that
/// refer to each other in a cycle.
const DEEPEST: usize = 64;

/// The current records of an environment.
pub(crate) struct Recorded<'a> {
    records: HashMap<Key, &'a Record>,
    /// All outputs of the installations with promoted outputs, each computed once, since every
    /// level may read the next one twice.
    known: RefCell<HashMap<Urn, Value>>,
}

impl<'a> Recorded<'a> {
    pub(crate) fn new(records: &'a [Arc<Record>]) -> Self {
        let current = records.iter().filter(|record| record.superseded.is_none());
        let records = current.filter_map(|record| Some((record.urn.key()?, &**record))).collect();
        Self { records, known: RefCell::default() }
    }

    /// All outputs of a record: those from its driver, and those derived from other outputs. An
    /// output that cannot be derived because a value is missing is left out.
    pub(crate) fn outputs(&self, record: &Record) -> Value {
        self.outputs_within(record, DEEPEST)
    }

    fn outputs_within(&self, record: &Record, depth: usize) -> Value {
        let own = &record.state.outputs;
        let Some(share) = &record.share else { return own.clone() };
        if share.promoted.is_empty() || depth == 0 {
            return share.seal(&Path::default(), own.clone());
        }
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
        let outputs = share.seal(&Path::default(), Value::Map(outputs));
        self.known.borrow_mut().insert(record.urn.clone(), outputs.clone());
        outputs
    }
}

/// The scope of the placeholders in one record.
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
            let message = format!("{} reads a value that is not recorded", placeholder.source());
            Unread::Absent(Box::new(Diagnostic::error("not-recorded", message)))
        })
    }
}

impl Within<'_> {
    /// The context in a record, which lacks only the type of its environment.
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
    /// [`Error::State`] if its environment cannot be read.
    pub(crate) async fn outputs_of(&self, record: &Record) -> Result<Value, Error> {
        let is_promoted = record.share.as_ref().is_some_and(|share| !share.promoted.is_empty());
        match Environment::of_urn(&record.urn).filter(|_| is_promoted) {
            None => Ok(Recorded::new(&[]).outputs(record)),
            Some(environment) => {
                let snapshot = self.snapshot(&environment).await?;
                Ok(Recorded::new(&snapshot.records).outputs(record))
            }
        }
    }
}
