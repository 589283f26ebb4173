//! What all environments of a life are recorded in.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use purlin_state::{Change, Environment, Error, Holder, Lock, MemoryStore, Snapshot, Store};

/// The store of a life.
pub(crate) struct Disk {
    store: Arc<dyn Store>,
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self { store: Arc::new(MemoryStore::new()) }
    }

    pub(crate) fn lock(&self, environment: &Environment) -> Lock {
        wait(self.store.lock(environment, holder())).expect("free")
    }

    pub(crate) fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        wait(self.store.load(environment))
    }

    pub(crate) fn commit(&self, lock: &Lock, changes: Vec<Change>) -> Result<(), Error> {
        wait(lock.writer().commit(changes))
    }
}

pub(crate) fn holder() -> Holder {
    Holder { user: "s".into(), host: "s".into(), pid: 1, command: "life".into(), since: 0 }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits without letting the clock of the simulation go on: the disk has its own.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        thread::park();
    }
}
