//! The contract's functions, in any edition that a component exports. The rest of this crate knows
//! only the current edition; each earlier one has an adapter.

use wasmtime::component::{InstancePre, Linker};
use wasmtime::{Store, component::HasSelf};

use crate::bindings;
use crate::bindings::exports::purlin::driver::lifecycle as wit;
use crate::capability::Guest;
use crate::v0_1;

/// An edition of the contract that this host loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contract {
    /// As in `wit/`.
    Current,
    /// As in `wit/0.1/`.
    V0_1,
}

impl Contract {
    /// All of them, the current one first.
    pub(crate) const ALL: [Self; 2] = [Self::Current, Self::V0_1];

    /// Its version.
    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Current => crate::CONTRACT_VERSION,
            Self::V0_1 => "0.1.0",
        }
    }
}

/// Links the contract's interfaces for drivers, in every edition.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    bindings::Driver::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    v0_1::link(linker)
}

/// A component with known exports.
pub(crate) enum Pre {
    Current(bindings::DriverPre<Guest>),
    V0_1(v0_1::DriverPre<Guest>),
}

impl Pre {
    pub(crate) fn new(contract: Contract, pre: InstancePre<Guest>) -> wasmtime::Result<Self> {
        Ok(match contract {
            Contract::Current => Self::Current(bindings::DriverPre::new(pre)?),
            Contract::V0_1 => Self::V0_1(v0_1::DriverPre::new(pre)?),
        })
    }

    pub(crate) fn instance_pre(&self) -> &InstancePre<Guest> {
        match self {
            Self::Current(pre) => pre.instance_pre(),
            Self::V0_1(pre) => pre.instance_pre(),
        }
    }

    pub(crate) async fn instantiate_async(&self, store: &mut Store<Guest>) -> wasmtime::Result<Instance> {
        Ok(match self {
            Self::Current(pre) => Instance::Current(pre.instantiate_async(store).await?),
            Self::V0_1(pre) => Instance::V0_1(pre.instantiate_async(store).await?),
        })
    }
}

/// An instance of a driver.
pub(crate) enum Instance {
    Current(bindings::Driver),
    V0_1(v0_1::Driver),
}

impl Instance {
    pub(crate) fn exports(&self) -> Exports<'_> {
        match self {
            Self::Current(driver) => Exports::Current(driver.purlin_driver_lifecycle()),
            Self::V0_1(driver) => Exports::V0_1(v0_1::Exports::new(driver)),
        }
    }
}

/// The exports of an instance.
#[derive(Clone, Copy)]
pub(crate) enum Exports<'a> {
    Current(&'a wit::Guest),
    V0_1(v0_1::Exports<'a>),
}

/// The result of a call: a trap, a failure, or an answer.
pub(crate) type Answer<T> = wasmtime::Result<Result<T, wit::Failure>>;

impl Exports<'_> {
    pub(crate) async fn describe(self, store: &mut Store<Guest>) -> wasmtime::Result<wit::Manifest> {
        match self {
            Self::Current(guest) => guest.call_describe(store).await,
            Self::V0_1(guest) => guest.describe(store).await,
        }
    }

    pub(crate) async fn check(
        self,
        store: &mut Store<Guest>,
        request: &wit::CheckRequest,
    ) -> Answer<wit::Checked> {
        match self {
            Self::Current(guest) => guest.call_check(store, request).await,
            Self::V0_1(guest) => guest.check(store, request).await,
        }
    }

    pub(crate) async fn name(self, store: &mut Store<Guest>, request: &wit::NameRequest) -> Answer<String> {
        match self {
            Self::Current(guest) => guest.call_name(store, request).await,
            Self::V0_1(guest) => guest.name(store, request).await,
        }
    }

    pub(crate) async fn create(
        self,
        store: &mut Store<Guest>,
        request: &wit::CreateRequest,
    ) -> Answer<wit::State> {
        match self {
            Self::Current(guest) => guest.call_create(store, request).await,
            Self::V0_1(guest) => guest.create(store, request).await,
        }
    }

    pub(crate) async fn read(
        self,
        store: &mut Store<Guest>,
        request: &wit::ReadRequest,
    ) -> Answer<Option<wit::Observed>> {
        match self {
            Self::Current(guest) => guest.call_read(store, request).await,
            Self::V0_1(guest) => guest.read(store, request).await,
        }
    }

    pub(crate) async fn update_impact(
        self,
        store: &mut Store<Guest>,
        request: &wit::Change,
    ) -> Answer<wit::Impact> {
        match self {
            Self::Current(guest) => guest.call_update_impact(store, request).await,
            Self::V0_1(guest) => guest.update_impact(store, request).await,
        }
    }

    pub(crate) async fn update(self, store: &mut Store<Guest>, request: &wit::Change) -> Answer<wit::State> {
        match self {
            Self::Current(guest) => guest.call_update(store, request).await,
            Self::V0_1(guest) => guest.update(store, request).await,
        }
    }

    pub(crate) async fn delete(self, store: &mut Store<Guest>, request: &wit::DeleteRequest) -> Answer<()> {
        match self {
            Self::Current(guest) => guest.call_delete(store, request).await,
            Self::V0_1(guest) => guest.delete(store, request).await,
        }
    }
}
