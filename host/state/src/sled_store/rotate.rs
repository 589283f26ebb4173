//! A new key for everything.

use std::sync::{Arc, mpsc};

use secrecy::SecretString;

use super::{SledStore, blocking};
use crate::disk::{Alone, Writing};
use crate::keys::{Keyring, Rotation};
use crate::probe::Probed;
use crate::table::Table;
use crate::{Error, codec, keyspace};

impl SledStore {
    /// Seals everything anew, with a new key, in one step: a crash at any point leaves a state that
    /// the old key opens as a whole, or one that the new one does. Gives the public half of the new
    /// key. What [`crate::Store::seal`] sealed before does not open any more.
    ///
    /// Where the key lies in a file, the file follows, with the key given or one that is made. Where
    /// it comes from elsewhere, the new one has to be given.
    ///
    /// # Errors
    /// [`Error::KeyInvalid`] when what is given is no key, [`Error::Damaged`] when something does
    /// not open with the old one, and when the disk fails.
    pub async fn rotate_key(&self, new: Option<SecretString>) -> Result<String, Error> {
        let (keys, probe) = (self.keys.clone(), self.probe.clone());
        let line = self.with(|open| Ok(open.writer.line()))?;
        let rotate = move || rotate(&keys, new.as_ref(), &probe, |call| line.alone(call));
        blocking("purlin-state-rotate", rotate).await?
    }
}

fn rotate(
    keys: &Arc<Keyring>,
    new: Option<&SecretString>,
    probe: &Probed,
    alone: impl FnOnce(Alone) -> Result<(), Error>,
) -> Result<String, Error> {
    let rotation = Rotation::prepare(keys, new, probe)?;
    let (old, new) = (keys.clone(), rotation.keyring());
    let stored = codec::encode_key(&rotation.data().stored);
    let (done, answer) = mpsc::channel();
    let sent = alone(Box::new(move |writing: &mut Writing| {
        let table = resealed(&writing.shared().read().table, &old, &new, stored);
        // Whether it was taken back or may have happened matters to who asked.
        let _ = done.send(match table {
            Ok(table) => writing.replace(table).map_err(|error| (error, false)),
            Err(error) => Err((error, true)),
        });
    }));
    let answer = match sent {
        Ok(()) => answer.recv().unwrap_or(Err((Error::Closed, false))),
        Err(error) => Err((error, true)),
    };
    match answer {
        Ok(()) => rotation.complete(probe),
        Err((error, unchanged)) => {
            if unchanged {
                rotation.abandon();
            }
            Err(error)
        }
    }
}

/// The same entries, all of them sealed for another key: also what was written before there was a
/// key, and by versions that sealed less.
fn resealed(table: &Table, old: &Keyring, new: &Keyring, key: Vec<u8>) -> Result<Table, Error> {
    let mut result = Table::default();
    for (at, value) in table.iter() {
        if at == keyspace::DATA_KEY || at == keyspace::RECIPIENT {
            continue;
        }
        let sealed = codec::reseal(value, &keyspace::describe(at, None), old, new)?;
        result.apply(at.to_vec(), Some(sealed));
    }
    result.apply(keyspace::DATA_KEY.to_vec(), Some(key));
    Ok(result)
}
