//! The events of one simulated life: data only, so that it can be printed, repeated and made
//! smaller.

use std::fmt;

use purlin_model::driver::Implements;

use crate::documents::{Documents, Edit, Resource};
use crate::environment::environment;

/// Drivers, documents, and the steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scenario {
    pub(crate) drivers: Vec<DriverKind>,
    /// The first documents of each environment.
    pub(crate) starts: Vec<Documents>,
    /// Whether the state is in files.
    pub(crate) on_disk: bool,
    pub(crate) steps: Vec<Step>,
}

/// The behaviour of a driver without faults.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DriverKind {
    pub(crate) implements: Implements,
    pub(crate) checkpoint: Checkpoint,
    /// The new and the old one cannot exist at the same time.
    pub(crate) deletes_first: bool,
    /// `read` returns inputs, not only outputs.
    pub(crate) returns_inputs: bool,
    /// Of several objects with a name, `read` finds the oldest.
    pub(crate) finds_oldest: bool,
    /// Deleting a missing object fails with `not-found`.
    pub(crate) strict: bool,
    /// It names outputs that an update leaves unchanged.
    pub(crate) promises: bool,
    /// The seconds until its system shows a new object to `read`; less than the grace.
    pub(crate) lag: u8,
    /// A request to create or delete may arrive after the process that sent it was killed.
    pub(crate) late: bool,
    /// The seconds for which its system still shows a deleted object to `read`; less than the grace.
    pub(crate) lingers: u8,
    /// As long as its system shows a deleted object, that keeps its name.
    pub(crate) keeps_names: bool,
    /// The seconds until an object is done that is created or updated; until then, it is `pending`, as is
    /// the deletion of one that is still shown.
    pub(crate) takes: u8,
    /// The bytes that it keeps privately for each object.
    pub(crate) cookie: u32,
    /// It foresees its effects: outputs, a part, and a token.
    pub(crate) foresees: bool,
}

/// When `create` reports the id of the new object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checkpoint {
    Never,
    Before,
    After,
}

/// One command, and its faults.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// The number of the environment.
    pub(crate) place: u8,
    /// Runs at the same time as the previous step, which is in another environment.
    pub(crate) beside: bool,
    /// Edits of the documents before the command.
    pub(crate) edits: Vec<Edit>,
    /// Before the command, a person restores a copy of the state from this many commits ago.
    pub(crate) restore: Option<u8>,
    /// Before the command, a file of the state is damaged and repaired. Only if the state is in
    /// files.
    pub(crate) damage: Option<Damage>,
    /// Before the command, others change real objects.
    pub(crate) behind: Vec<(u8, Behind)>,
    pub(crate) command: Command,
    /// A fault in the driver call with this number.
    pub(crate) faults: Vec<(u32, CallFault)>,
    /// The process dies at this point, and this share of unacknowledged data is kept.
    pub(crate) crash: Option<(u32, u8)>,
    /// At this point, another host gets the lease, and this share of unacknowledged data is kept.
    /// The process lives until its calls have ended; the other host waits for that.
    pub(crate) lost: Option<(u32, u8)>,
    /// The host is stopped, and the next step of the environment runs on another host.
    pub(crate) stop: Option<Stop>,
    /// How fast the clock of the host is, in milliseconds.
    pub(crate) skew: i64,
    /// Whether the run waits for what is in progress.
    pub(crate) waits: bool,
    /// At this point the operator requests the end; at the second one, the operator cuts the calls
    /// off.
    pub(crate) cancel: Option<(u32, Option<u32>)>,
    /// The disk fails at this write, which may have reached it.
    pub(crate) disk_full: Option<(u32, bool)>,
    /// The seed of durations.
    pub(crate) timing: u64,
    pub(crate) parallelism: u8,
}

/// A host that is stopped, as by SIGSTOP.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stop {
    /// At this point.
    pub(crate) at: u32,
    /// This share of unacknowledged data is kept.
    pub(crate) kept: u8,
    pub(crate) wakes: Wakes,
    /// How fast the clocks of both hosts are, in millionths.
    pub(crate) rates: [i32; 2],
    /// The seed for the fate of requests in transit.
    pub(crate) chance: u64,
}

/// When a stopped host continues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wakes {
    /// While it has the lease, after this many 256ths of the remaining time.
    Early(u8),
    /// When the other host is at this point, or at its end.
    At(u32),
    Never,
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    Up {
        full: bool,
        keep_removed: bool,
        scope: CommandScope,
        replace: Option<u8>,
    },
    Refresh(CommandScope),
    Destroy(CommandScope),
    /// A person checks the outcome of calls that remain undecided.
    Resolve,
}

/// The resources of a command.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct CommandScope {
    pub(crate) targets: Vec<u8>,
    pub(crate) exclude: Vec<u8>,
    pub(crate) dependents: bool,
}

/// Damage to a file, and the repair.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Damage {
    /// Which of the environment's files.
    pub(crate) file: u8,
    pub(crate) harm: Harm,
    /// The position, in 256ths of its length.
    pub(crate) at: u8,
    /// The repair is killed at these probes, one after the other.
    pub(crate) kills: Vec<u8>,
}

/// The damage to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// A flipped bit.
    Flip,
    /// A truncation at this position.
    Cut,
    /// The file is deleted.
    Lose,
}

/// A change of a real object by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    Drift,
    Vanish,
}

/// A fault in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallFault {
    /// It fails without effects.
    Fail,
    /// It does everything, and reports a partial result.
    Partial,
    /// An update changes only one input, and reports a partial result; otherwise the same.
    Half,
    /// It traps before it does anything.
    TrapBefore,
    /// It traps after it did everything.
    TrapAfter,
    /// It never returns, and does nothing.
    HangBefore,
    /// It does everything, and never returns.
    HangAfter,
    /// It asks to be retried.
    Busy,
    /// It takes much longer than others.
    Slow,
    /// No instance can be created.
    NoInstance,
    /// It does everything, and returns a result that the contract does not allow.
    Junk,
}

impl Scenario {
    /// Every resource that the documents of an environment ever declare, with its slot.
    pub(crate) fn resources<'a>(
        &'a self,
        place: usize,
        start: &'a Documents,
    ) -> impl Iterator<Item = (u8, &'a Resource)> {
        let steps =
            self.steps.iter().filter(move |step| usize::from(step.place) % self.starts.len() == place);
        let later = steps.flat_map(|step| &step.edits).filter_map(|edit| match edit {
            Edit::Put(slot, resource) => Some((*slot, resource)),
            _ => None,
        });
        start.resources.iter().map(|(slot, resource)| (*slot, resource)).chain(later)
    }

    /// The steps that run at the same time, by number: in different environments, or one that is
    /// stopped and the one that takes over.
    pub(crate) fn rounds(&self) -> Vec<Vec<usize>> {
        let mut rounds: Vec<Vec<usize>> = Vec::new();
        let place = |number: usize| usize::from(self.steps[number].place) % self.starts.len();
        let has_stopped = |round: &[usize]| round.iter().any(|number| self.steps[*number].stop.is_some());
        for (number, step) in self.steps.iter().enumerate() {
            match rounds.last_mut() {
                Some(round) if round.len() == 1 && has_stopped(round) && place(round[0]) == place(number) => {
                    round.push(number)
                }
                Some(round)
                    if step.beside
                        && step.stop.is_none()
                        && !has_stopped(round)
                        && round.iter().all(|other| place(*other) != place(number)) =>
                {
                    round.push(number);
                }
                _ => rounds.push(vec![number]),
            }
        }
        rounds
    }
}

impl Step {
    /// A step without faults.
    pub(crate) fn calm(command: Command) -> Self {
        Self {
            place: 0,
            beside: false,
            edits: Vec::new(),
            restore: None,
            damage: None,
            behind: Vec::new(),
            command,
            faults: Vec::new(),
            crash: None,
            lost: None,
            stop: None,
            skew: 0,
            cancel: None,
            disk_full: None,
            timing: 1,
            parallelism: 4,
            waits: true,
        }
    }
}

impl Command {
    pub(crate) fn up() -> Self {
        Self::Up { full: false, keep_removed: false, scope: CommandScope::default(), replace: None }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, kind) in self.drivers.iter().enumerate() {
            let does = kind.implements;
            let flags = [
                (does.check, "check"),
                (does.name, "name"),
                (does.read, "read"),
                (does.update_impact, "update-impact"),
                (does.update, "update"),
                (does.repeat_create, "repeat-create"),
                (kind.deletes_first, "deletes-first"),
                (kind.returns_inputs, "returns-inputs"),
                (kind.finds_oldest, "finds-oldest"),
                (kind.strict, "strict"),
                (kind.promises, "promises-outputs"),
                (kind.checkpoint == Checkpoint::Before, "checkpoint-before"),
                (kind.checkpoint == Checkpoint::After, "checkpoint-after"),
                (kind.late, "late-requests"),
                (kind.keeps_names, "keeps-names"),
                (kind.foresees, "foresees"),
            ];
            let flags: Vec<&str> = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
            write!(f, "driver d{number}: {}", flags.join(", "))?;
            let times = [
                (kind.lag, "does not show new objects"),
                (kind.lingers, "still shows deleted objects"),
                (kind.takes, "calls objects pending"),
            ];
            for (seconds, what) in times.iter().filter(|(seconds, _)| *seconds > 0) {
                write!(f, ", {what} for {seconds} s")?;
            }
            if kind.cookie > 0 {
                write!(f, ", keeps {} bytes", kind.cookie)?;
            }
            writeln!(f)?;
        }
        if self.starts.iter().any(|start| start.manifests) {
            writeln!(f, "resources are manifests")?;
        }
        if self.on_disk {
            writeln!(f, "the state lies in files")?;
        }
        let several = self.starts.len() > 1;
        for (number, step) in self.steps.iter().enumerate() {
            write!(f, "step {}", number + 1)?;
            if several {
                let at = if step.beside { ", at the same time," } else { "" };
                let place = environment(usize::from(step.place) % self.starts.len());
                write!(f, "{at} in {}", place.env)?;
            }
            write!(f, ": {:?}, {} at a time", step.command, step.parallelism)?;
            if let Some((at, kept)) = step.lost {
                write!(f, "; the lease is lost at point {at}, {kept} kept")?;
            }
            if let Some(stop) = &step.stop {
                write!(f, "; {stop:?}")?;
            }
            if step.skew != 0 {
                write!(f, "; its clock is {} ms fast", step.skew)?;
            }
            if let Some((at, kept)) = step.crash {
                write!(f, ", killed at point {at} keeping {kept}")?;
            }
            if let Some((at, cut)) = step.cancel {
                write!(f, ", cancelled at {at}, cut at {cut:?}")?;
            }
            if let Some((at, reached)) = step.disk_full {
                write!(f, ", the disk fails at write {at}, which reached it: {reached}")?;
            }
            if !step.waits {
                write!(f, ", does not wait")?;
            }
            writeln!(f)?;
            if let Some(back) = step.restore {
                writeln!(f, "    a copy from {back} commits ago is put back")?;
            }
            if let Some(damage) = &step.damage {
                writeln!(f, "    {damage:?}")?;
            }
            step.edits.iter().try_for_each(|edit| writeln!(f, "    {edit:?}"))?;
            step.behind.iter().try_for_each(|(slot, what)| writeln!(f, "    {what:?} of slot {slot}"))?;
            step.faults.iter().try_for_each(|(call, fault)| writeln!(f, "    call {call}: {fault:?}"))?;
        }
        Ok(())
    }
}
