//! Why the documents no longer ask for a recorded resource: facts that whoever holds the documents
//! finds out, and the one place where they become a sentence.

use std::fmt;
use std::sync::Arc;

use purlin_model::Key;

use crate::plan::{Action, Plan};

/// Why the documents no longer ask for a recorded resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Departure {
    /// Nothing is known but that they do not.
    #[default]
    Unknown,
    /// It was asked for, and how is known.
    Asked(Box<Asked>),
}

/// How a resource was asked for when the documents still did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The deployment, by its number in the history.
    pub deployment: u64,
    /// What asked for it.
    pub by: By,
    /// The file that said so.
    pub file: Arc<str>,
    /// What became of that file.
    pub now: FileNow,
}

/// What asked for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A Deployment's shared resources, or a workload that is still there.
    Declaration,
    /// It is a workload, or a resource of one, and the workload is gone.
    Workload(Arc<str>),
    /// The definition of another resource provisioned it; none where that is still there.
    Definition(Option<Key>),
    /// Another resource referred to it; none where that is still there.
    Reference(Option<Key>),
}

/// What became of a file that an earlier deployment was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileNow {
    /// It was read, and says something else.
    Changed,
    /// It is gone from a folder that was read.
    Removed,
    /// It is still there, and holds no document.
    Empty,
    /// It was not read.
    Unread,
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("it is no longer in the documents"),
            Self::Asked(asked) => asked.fmt(f),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deployment, by, file, now } = self;
        let file = match &**file {
            "-" => "standard input".to_owned(),
            file => format!("`{}`", file.escape_debug()),
        };
        let did = match by {
            By::Declaration => "declared it".to_owned(),
            By::Workload(workload) => format!("declared its workload `{workload}`"),
            By::Definition(None) => "provisioned it".to_owned(),
            By::Reference(None) => "referred to it".to_owned(),
            By::Definition(Some(other)) | By::Reference(Some(other)) => {
                let other = other.as_str().replacen(".default#", "#", 1);
                return write!(f, "`{other}`, which asked for it, is no longer in the documents");
            }
        };
        match now {
            FileNow::Changed => write!(f, "{file} {did} in deployment {deployment}, and no longer does"),
            FileNow::Removed => write!(f, "{file} was removed; it {did} in deployment {deployment}"),
            FileNow::Empty => {
                write!(f, "{file} holds no document any more; it {did} in deployment {deployment}")
            }
            FileNow::Unread => write!(f, "{file}, which {did} in deployment {deployment}, was not read"),
        }
    }
}

impl Plan {
    /// The recorded resources that go because the documents no longer ask for them, each with the
    /// id of the deployment that last changed it.
    pub fn departing(&self) -> Vec<(Key, Arc<str>)> {
        let departing = self.steps.iter().filter(|step| step.departure.is_some());
        let deployment = |step: &crate::Step| {
            let record = self.recorded.current(&step.urn)?;
            Some((step.key.clone(), Arc::clone(&record.deployment)))
        };
        departing.filter_map(deployment).collect()
    }

    /// Says of each resource that goes why the documents no longer ask for it.
    pub fn explain_departures(&mut self, mut why: impl FnMut(&Key) -> Departure) {
        for step in self.steps.iter_mut().filter(|step| step.action == Action::Delete) {
            let Some(known) = &mut step.departure else { continue };
            *known = why(&step.key);
            if let Some(reason) = step.reasons.first_mut() {
                *reason = known.to_string();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_name_the_file_and_the_deployment() {
        let say = |by: By, now: FileNow| {
            let asked = Asked { deployment: 12, by, file: "apps/web.yaml".into(), now };
            Departure::Asked(Box::new(asked)).to_string()
        };
        let key = Key::parse("s3.default#shared.a").expect("a key");
        assert_eq!(
            [
                Departure::Unknown.to_string(),
                say(By::Declaration, FileNow::Removed),
                say(By::Declaration, FileNow::Changed),
                say(By::Workload("web".into()), FileNow::Removed),
                say(By::Workload("web".into()), FileNow::Empty),
                say(By::Definition(None), FileNow::Changed),
                say(By::Definition(Some(key.clone())), FileNow::Changed),
                say(By::Reference(None), FileNow::Unread),
            ],
            [
                "it is no longer in the documents",
                "`apps/web.yaml` was removed; it declared it in deployment 12",
                "`apps/web.yaml` declared it in deployment 12, and no longer does",
                "`apps/web.yaml` was removed; it declared its workload `web` in deployment 12",
                "`apps/web.yaml` holds no document any more; it declared its workload `web` in deployment 12",
                "`apps/web.yaml` provisioned it in deployment 12, and no longer does",
                "`s3#shared.a`, which asked for it, is no longer in the documents",
                "`apps/web.yaml`, which referred to it in deployment 12, was not read",
            ]
        );
    }
}
