//! Settings for replacing, deleting, adopting and renaming (SPEC §9 [C]).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Descriptor, Diagnostic, InputPath, Key, Location, Urn};

/// The settings of a resource for changing, replacing, deleting, renaming or adopting it.
///
/// Descriptors are relative to the resource with these settings: omitted class and id are its own.
///
/// `F` is `bool` for the settings that apply ([`Lifecycle`]), and `Option<bool>` for those that one document
/// writes ([`LifecycleOptions`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LifecycleSettings<F> {
    /// Deleting or replacing it is rejected.
    pub protect: F,
    /// It is forgotten instead of being deleted.
    pub retain: F,
    /// Its data may be lost without a second confirmation.
    pub allow_data_loss: F,
    /// No driver call is made for it, whatever the documents contain about it.
    pub paused: F,
    /// `Some(true)`: the old one is deleted before the new one is created. `Some(false)`: the new
    /// one must be created first. `None`: as the driver requires, otherwise the new one first.
    pub delete_before_replace: Option<bool>,
    /// Inputs whose changes are ignored.
    pub ignore_changes: Vec<InputPath>,
    /// Inputs whose changes replace.
    pub replace_on_changes: Vec<InputPath>,
    /// It is replaced whenever one of these is; it depends on each.
    pub replace_with: Vec<(Descriptor, Location)>,
    /// It is deleted together with that one: then there is no delete call for this one. It depends
    /// on it.
    pub deleted_with: Option<(Descriptor, Location)>,
    /// Further resources that it waits for.
    pub depends_on: Vec<(Descriptor, Location)>,
    /// Its former names.
    pub aliases: Vec<Alias>,
    /// The provider id of an existing object to adopt.
    pub import: Option<Arc<str>>,
    /// The provider id of an object that is only read, because others manage it. Never together
    /// with `import`.
    pub observe: Option<Arc<str>>,
    /// The place of `import` or `observe`; always set if one of them is.
    pub id_location: Option<Location>,
    /// How often it is read while it is reconciled (`purlin reconcile --watch`), if it has its own
    /// interval.
    pub poll_interval: Option<Duration>,
    /// Any text: once it changes, the resource is read at once.
    pub reconcile_requested: Option<Arc<str>>,
}

/// The settings that apply to a resource.
pub type Lifecycle = LifecycleSettings<bool>;

/// Settings as one document writes them: omitted ones stay as they are elsewhere.
pub type LifecycleOptions = LifecycleSettings<Option<bool>>;

/// A setting that is on or off.
pub trait Flag: Copy {
    /// The setting with one of a document over it.
    #[must_use]
    fn under(self, written: Option<bool>) -> Self;
}

impl Flag for bool {
    fn under(self, written: Option<bool>) -> Self {
        written.unwrap_or(self)
    }
}

impl Flag for Option<bool> {
    fn under(self, written: Option<bool>) -> Self {
        written.or(self)
    }
}

/// A former name of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: AliasName,
    /// Where it was written.
    pub location: Location,
}

/// The form of a former name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AliasName {
    /// Within the same organisation, application and environment.
    Key(Key),
    /// In full, such as the name of one from another application of the environment.
    Urn(Urn),
}

impl fmt::Display for AliasName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => key.fmt(f),
            Self::Urn(urn) => urn.fmt(f),
        }
    }
}

impl LifecycleOptions {
    /// These settings merged over others, which apply or are those of another document about the same
    /// resource: written ones take precedence, and lists are joined, those of `base` first.
    #[must_use]
    pub fn over<F: Flag>(&self, base: &LifecycleSettings<F>) -> LifecycleSettings<F> {
        fn joined<T: Clone>(base: &[T], own: &[T]) -> Vec<T> {
            base.iter().chain(own).cloned().collect()
        }
        fn first<T: Clone>(own: &Option<T>, base: &Option<T>) -> Option<T> {
            own.as_ref().or(base.as_ref()).cloned()
        }
        let identified = self.import.is_some() || self.observe.is_some();
        let (import, observe, id_location) = match identified {
            true => (&self.import, &self.observe, &self.id_location),
            false => (&base.import, &base.observe, &base.id_location),
        };
        LifecycleSettings {
            protect: base.protect.under(self.protect),
            retain: base.retain.under(self.retain),
            allow_data_loss: base.allow_data_loss.under(self.allow_data_loss),
            paused: base.paused.under(self.paused),
            delete_before_replace: self.delete_before_replace.or(base.delete_before_replace),
            ignore_changes: joined(&base.ignore_changes, &self.ignore_changes),
            replace_on_changes: joined(&base.replace_on_changes, &self.replace_on_changes),
            replace_with: joined(&base.replace_with, &self.replace_with),
            deleted_with: first(&self.deleted_with, &base.deleted_with),
            depends_on: joined(&base.depends_on, &self.depends_on),
            aliases: joined(&base.aliases, &self.aliases),
            import: import.clone(),
            observe: observe.clone(),
            id_location: id_location.clone(),
            poll_interval: self.poll_interval.or(base.poll_interval),
            reconcile_requested: first(&self.reconcile_requested, &base.reconcile_requested),
        }
    }
}

/// Settings of a Deployment for one resource of its graph, whatever its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceLifecycle {
    /// The resource.
    pub key: Key,
    /// Its settings, over those of its definition.
    pub options: LifecycleOptions,
    /// Where the resource was named.
    pub location: Location,
}

impl ResourceLifecycle {
    /// The fault of a second entry for a resource; `first` is where it has another one.
    pub fn twice(&self, first: &Location) -> Diagnostic {
        Diagnostic::error("lifecycle-twice", format!("`{}` has two entries in `lifecycle`", self.key))
            .at(&self.location)
            .related(first, "the first one is here")
            .help("write all settings into one of them")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(pointers: &[&str]) -> Vec<InputPath> {
        pointers
            .iter()
            .map(|text| InputPath {
                text: (*text).into(),
                pointer: (*text).into(),
                location: Location::default(),
            })
            .collect()
    }

    #[test]
    fn explicit_settings_win_and_lists_are_joined() {
        let base = Lifecycle {
            protect: true,
            retain: true,
            allow_data_loss: true,
            delete_before_replace: Some(true),
            ignore_changes: paths(&["/values/a"]),
            ..Lifecycle::default()
        };
        let options = LifecycleOptions {
            protect: Some(false),
            allow_data_loss: Some(false),
            delete_before_replace: Some(false),
            ignore_changes: paths(&["/values/b"]),
            import: Some("i-1".into()),
            ..LifecycleOptions::default()
        };
        let merged = options.over(&base);
        assert_eq!((merged.protect, merged.retain, merged.delete_before_replace), (false, true, Some(false)));
        assert!(!merged.allow_data_loss);
        assert_eq!(merged.ignore_changes, paths(&["/values/a", "/values/b"]));
        assert_eq!(merged.import.as_deref(), Some("i-1"));
        assert_eq!(LifecycleOptions::default().over(&base), base);
        let manifest = LifecycleOptions {
            retain: Some(false),
            paused: Some(true),
            observe: Some("i-2".into()),
            ..LifecycleOptions::default()
        };
        let both = options.over(&manifest);
        assert_eq!(both.over(&base), options.over(&manifest.over(&base)));
        assert_eq!((both.paused, both.observe), (Some(true), None));
    }
}
