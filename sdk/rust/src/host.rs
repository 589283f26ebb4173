//! The functions of the host that a driver may call during its work. In unit tests, where there is
//! no host, [`crate::testing`] keeps the messages.

/// Log lines. They reach the operator with the resource's key.
pub mod log {
    pub use crate::bindings::purlin::driver::log::Level;

    /// Writes a line. Never write a secret, although the host masks those of the call.
    pub fn write(level: Level, message: impl AsRef<str>) {
        #[cfg(target_family = "wasm")]
        crate::bindings::purlin::driver::log::write(level, message.as_ref());
        #[cfg(not(target_family = "wasm"))]
        crate::testing::record(crate::testing::HostMessage::Log(level, message.as_ref().to_owned()));
    }

    /// For the driver's author.
    pub fn trace(message: impl AsRef<str>) {
        write(Level::Trace, message);
    }

    /// For debugging.
    pub fn debug(message: impl AsRef<str>) {
        write(Level::Debug, message);
    }

    /// Normal events.
    pub fn info(message: impl AsRef<str>) {
        write(Level::Info, message);
    }

    /// Something the operator should know.
    pub fn warn(message: impl AsRef<str>) {
        write(Level::Warn, message);
    }

    /// Something failed.
    pub fn error(message: impl AsRef<str>) {
        write(Level::Error, message);
    }
}

/// Measurements. Names are `[a-z][a-z0-9_.]*`; others are ignored.
pub mod metrics {
    /// Adds to a counter.
    pub fn count(name: &str, by: u64) {
        #[cfg(target_family = "wasm")]
        crate::bindings::purlin::metrics::metrics::count(name, by);
        #[cfg(not(target_family = "wasm"))]
        crate::testing::record(crate::testing::HostMessage::Count(name.to_owned(), by));
    }

    /// Records a measurement, in the unit that the name ends with (`_ms`, `_bytes`).
    pub fn measure(name: &str, value: f64) {
        #[cfg(target_family = "wasm")]
        crate::bindings::purlin::metrics::metrics::measure(name, value);
        #[cfg(not(target_family = "wasm"))]
        crate::testing::record(crate::testing::HostMessage::Measure(name.to_owned(), value));
    }
}

/// The operation in flight.
pub mod operation {
    use std::time::Duration;

    use serde::Serialize;

    use crate::Failure;

    /// Reports the provider id to the host before `create` finishes, so that nothing is created
    /// twice after a crash. Returns once the id is stored. Only in `create` and `update`.
    pub fn checkpoint(id: &str) {
        report(id, None);
    }

    /// Reports the provider id together with a cookie, as JSON. After a crash, the next call has it in its
    /// state, where [`crate::State::read_cookie`] reads it; in `update` it takes the place of the recorded
    /// one. Returns once both are stored. Only in `create` and `update`.
    ///
    /// # Errors
    /// If the cookie does not serialise.
    pub fn checkpoint_with(id: &str, cookie: impl Serialize) -> Result<(), Failure> {
        report(id, Some(&serde_json::to_vec(&cookie)?));
        Ok(())
    }

    fn report(id: &str, cookie: Option<&[u8]>) {
        #[cfg(target_family = "wasm")]
        crate::bindings::purlin::driver::operation::checkpoint(id, cookie);
        #[cfg(not(target_family = "wasm"))]
        crate::testing::record(crate::testing::HostMessage::Checkpoint(
            id.to_owned(),
            cookie.map(<[u8]>::to_vec),
        ));
    }

    /// Shows people the progress; `percent` if known (0 to 100).
    pub fn progress(message: &str, percent: Option<u8>) {
        #[cfg(target_family = "wasm")]
        crate::bindings::purlin::driver::operation::progress(message, percent);
        #[cfg(not(target_family = "wasm"))]
        crate::testing::record(crate::testing::HostMessage::Progress(message.to_owned(), percent));
    }

    /// Whether the operator cancelled this call. A driver that polls should check each time.
    pub fn cancelled() -> bool {
        #[cfg(target_family = "wasm")]
        return crate::bindings::purlin::driver::operation::cancelled();
        #[cfg(not(target_family = "wasm"))]
        return crate::testing::is_cancelled();
    }
    /// The time until the host ends the call. No clock changes it.
    pub fn time_left() -> Duration {
        #[cfg(target_family = "wasm")]
        return Duration::from_millis(crate::bindings::purlin::driver::operation::time_left());
        #[cfg(not(target_family = "wasm"))]
        return crate::testing::time();
    }
}
