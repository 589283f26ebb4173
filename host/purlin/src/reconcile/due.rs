//! Schedules when each resource is due to be read or retried. The caller decides when to repeat a
//! pass that failed.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use purlin_engine::fits;
use purlin_model::{Drift, Reconcile, Urn};
use purlin_sandbox::clock::millis;

/// The default read interval.
/// The shortest interval, and the first delay after a failure.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest delay after a failure, in milliseconds.
const LONGEST_RETRY_DELAY: u64 = 60_000;
/// A resource may be read early by this fraction of its interval (one in this number), so that many
/// are read in one pass.
const EARLY: u64 = 10;

/// The read interval of a resource, as configured in the workspace.
pub(super) fn interval(policy: &Reconcile, urn: &Urn) -> Duration {
    let rule = of_rules(policy, urn, |rule| rule.interval);
    rule.or(policy.interval).unwrap_or(Reconcile::INTERVAL).max(SHORTEST)
}

/// What happens to a resource that others changed, as configured in the workspace.
pub(super) fn drift(policy: &Reconcile, urn: &Urn) -> Drift {
    of_rules(policy, urn, |rule| rule.drift).or(policy.drift).unwrap_or(Reconcile::DRIFT)
}

fn of_rules<T>(
    policy: &Reconcile,
    urn: &Urn,
    of: impl Fn(&purlin_model::ReconcileRule) -> Option<T>,
) -> Option<T> {
    if policy.rules.is_empty() {
        return None;
    }
    let key = urn.key()?;
    policy.rules.iter().rev().filter(|rule| fits(&rule.resources, key.as_str())).find_map(of)
}

/// When each resource is due. All times are in milliseconds since 1970.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// When each resource is read next.
    reads: HashMap<Urn, u64>,
    /// The intervals that documents set.
    own: HashMap<Urn, Duration>,
    retries: HashMap<Urn, Retry>,
    random: u64,
}

#[derive(Clone, Copy, Debug)]
struct Retry {
    at: u64,
    failures: u32,
}

impl Schedule {
    /// A schedule without resources. `seed` is the seed of the jitter.
    pub(super) fn new(seed: u64) -> Self {
        Self { reads: HashMap::new(), own: HashMap::new(), retries: HashMap::new(), random: seed | 1 }
    }

    /// A new schedule in which everything is due.
    pub(super) fn afresh(&self) -> Self {
        Self { own: self.own.clone(), ..Self::new(self.random) }
    }

    /// Sets the existing resources. A new one is due at once; missing ones are forgotten.
    pub(super) fn set_resources(&mut self, all: &[&Urn], now: u64) {
        if self.reads.len() > all.len() {
            let known: HashSet<&Urn> = all.iter().copied().collect();
            self.reads.retain(|urn, _| known.contains(urn));
        }
        for urn in all {
            if !self.reads.contains_key(*urn) {
                self.reads.insert((*urn).clone(), now);
            }
        }
    }

    /// The resources to read now, including those that are almost due.
    pub(super) fn due(&self, now: u64, interval: &dyn Fn(&Urn) -> Duration) -> Vec<Urn> {
        let is_due = |(urn, at): &(&Urn, &u64)| {
            let early = millis(self.own.get(*urn).copied().unwrap_or_else(|| interval(urn))) / EARLY;
            let backed_off = self.retries.get(*urn).is_some_and(|retry| retry.at > now);
            **at <= now.saturating_add(early) && !backed_off
        };
        if !self.reads.values().any(|at| *at <= now) {
            return Vec::new();
        }
        self.reads.iter().filter(is_due).map(|(urn, _)| urn.clone()).collect()
    }

    /// Notes that a resource was read.
    pub(super) fn was_read(&mut self, urn: &Urn, now: u64, interval: Duration) {
        let jitter = self.draw();
        if let Some(at) = self.reads.get_mut(urn) {
            let interval = millis(self.own.get(urn).copied().unwrap_or(interval).max(SHORTEST));
            // Between 95 and 105 percent.
            let spread = interval / 10;
            *at = now.saturating_add(interval - spread / 2).saturating_add(scaled(spread, jitter));
        }
    }

    /// Schedules a read for this time at the latest.
    pub(super) fn read_by(&mut self, urn: &Urn, at: u64) {
        if let Some(read) = self.reads.get_mut(urn) {
            *read = at.min(*read);
        }
    }

    /// Notes that a resource exists. A new one counts as read.
    pub(super) fn made(&mut self, urn: &Urn, now: u64, interval: Duration) {
        if !self.reads.contains_key(urn) {
            self.reads.insert(urn.clone(), now);
            self.was_read(urn, now, interval);
        }
    }

    /// Sets the intervals that documents set, of all resources. A shorter one than before counts from now.
    pub(super) fn set_own_intervals(
        &mut self,
        own: HashMap<Urn, Duration>,
        now: u64,
        usual: &dyn Fn(&Urn) -> Duration,
    ) {
        for (urn, interval) in &own {
            let Some(at) = self.reads.get_mut(urn) else { continue };
            let interval = (*interval).max(SHORTEST);
            if interval < self.own.get(urn).copied().unwrap_or_else(|| usual(urn)) {
                *at = (*at).min(now.saturating_add(millis(interval)));
            }
        }
        self.own = own;
    }

    /// Makes a resource due at once.
    pub(super) fn request(&mut self, urn: &Urn, now: u64) {
        self.retries.remove(urn);
        if let Some(at) = self.reads.get_mut(urn) {
            *at = now;
        }
    }

    /// Notes that an operation on a resource failed. The next attempt follows after 1 to 2 s, then 2
    /// to 4 s, up to 30 to 60 s, each drawn at random.
    pub(super) fn failed(&mut self, urn: &Urn, now: u64) {
        let failures = self.retries.get(urn).map_or(1, |retry| retry.failures.saturating_add(1));
        let longest = (millis(SHORTEST) << failures.min(7)).min(LONGEST_RETRY_DELAY);
        let wait = (longest / 2).max(millis(SHORTEST));
        let jitter = self.draw();
        let wait = wait + scaled(longest.saturating_sub(wait), jitter);
        self.retries.insert(urn.clone(), Retry { at: now + wait, failures });
    }

    /// Notes that a resource was handled, unless it waits for a retry. Returns whether it does not
    /// wait.
    pub(super) fn succeeded(&mut self, urn: &Urn, now: u64) -> bool {
        match self.retries.get(urn) {
            Some(retry) if retry.at > now => false,
            Some(_) => self.retries.remove(urn).is_some(),
            None => true,
        }
    }

    /// Allows a retry of every waiting resource.
    pub(super) fn retry_all(&mut self) {
        self.retries.clear();
    }

    /// The resources that must not be retried yet.
    pub(super) fn backed_off(&self, now: u64) -> impl Iterator<Item = &Urn> {
        self.retries.iter().filter(move |(_, retry)| retry.at > now).map(|(urn, _)| urn)
    }

    /// Forgets the retries of resources that no longer exist.
    pub(super) fn keep_only(&mut self, known: &HashSet<&Urn>) {
        self.retries.retain(|urn, _| known.contains(urn));
    }

    /// When the next resource is due; a day from now if there is none.
    pub(super) fn next(&self, now: u64) -> u64 {
        let retries = self.retries.values().map(|retry| retry.at);
        // A resource that waits for a retry is not read before that.
        let after = |urn: &Urn| self.retries.get(urn).map_or(0, |retry| retry.at);
        let reads = self.reads.iter().map(|(urn, at)| (*at).max(after(urn)));
        retries.chain(reads).min().unwrap_or(now + 86_400_000).max(now)
    }

    /// A number from 0 to 1,023 (xorshift).
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 1_024
    }
}

fn scaled(whole: u64, part: u64) -> u64 {
    whole.saturating_mul(part) / 1_023
}

#[cfg(test)]
mod tests {
    use purlin_model::{Location, ReconcileRule};

    use super::*;

    fn urn(index: usize) -> Urn {
        Urn::parse(&format!("urn:purlin:dev/o::a::shared::db.default::shared.{index}")).expect("a URN")
    }

    fn every(seconds: u64) -> impl Fn(&Urn) -> Duration {
        move |_| Duration::from_secs(seconds)
    }

    #[test]
    fn delays_double_up_to_a_minute_and_are_at_least_a_second() {
        let mut schedule = Schedule::new(7);
        let mut waits = Vec::new();
        for _ in 0..12 {
            schedule.failed(&urn(0), 1_000);
            waits.push(schedule.retries[&urn(0)].at - 1_000);
        }
        assert!(waits.iter().all(|wait| (1_000..=60_000).contains(wait)), "{waits:?}");
        assert!(waits[0] <= 2_000 && waits[11] >= 30_000, "{waits:?}");
        // Resources that fail together are not retried together.
        let mut later: Vec<u64> = Vec::new();
        for index in 0..100 {
            for _ in 0..8 {
                schedule.failed(&urn(index), 0);
            }
            later.push(schedule.retries[&urn(index)].at);
        }
        later.sort_unstable();
        later.dedup();
        assert!(later.len() > 80, "{} of 100 differ", later.len());
    }

    #[test]
    fn a_failure_does_not_wait_for_the_next_read_and_a_success_ends_it() {
        let mut schedule = Schedule::new(1);
        schedule.set_resources(&[&urn(0)], 0);
        schedule.was_read(&urn(0), 0, Duration::from_secs(600));
        schedule.failed(&urn(0), 0);
        let next = schedule.next(0);
        assert!((1_000..=2_000).contains(&next), "{next}");
        assert_eq!(schedule.backed_off(next - 1).count(), 1);
        assert_eq!(schedule.backed_off(next).count(), 0);
        assert!(!schedule.succeeded(&urn(0), next - 1), "it is not tried yet");
        assert!(schedule.succeeded(&urn(0), next));
        assert!(schedule.next(next) >= 570_000);
    }

    #[test]
    fn many_resources_are_read_in_few_passes() {
        let mut schedule = Schedule::new(3);
        let urns: Vec<Urn> = (0..5_000).map(urn).collect();
        let all: Vec<&Urn> = urns.iter().collect();
        let (mut now, mut passes, mut reads) = (0, 0_u64, 0_usize);
        while now < 86_400_000 {
            schedule.set_resources(&all, now);
            let due = schedule.due(now, &every(60));
            reads += due.len();
            due.iter().for_each(|urn| schedule.was_read(urn, now, Duration::from_secs(60)));
            passes += 1;
            now = schedule.next(now).max(now + 1);
        }
        assert!((1_440..=1_700).contains(&passes), "{passes} passes in a day");
        assert!((5_000 * 1_400..=5_000 * 1_700).contains(&reads), "{reads}");
        assert_eq!((schedule.reads.len(), schedule.retries.len()), (5_000, 0));
        schedule.set_resources(&all[..10], now);
        assert_eq!(schedule.reads.len(), 10);
    }

    #[test]
    fn documents_and_rules_give_intervals() {
        let rule = |resources: &str, seconds, drift| ReconcileRule {
            resources: resources.into(),
            interval: Some(Duration::from_secs(seconds)),
            drift,
            location: Location::default(),
        };
        let policy = Reconcile {
            interval: Some(Duration::from_millis(5)),
            rules: vec![rule("db*", 30, Some(Drift::Report)), rule("db#shared.1", 90, None)],
            ..Reconcile::default()
        };
        assert_eq!(interval(&policy, &urn(0)), Duration::from_secs(30));
        assert_eq!(interval(&policy, &urn(1)), Duration::from_secs(90));
        assert_eq!(
            (drift(&policy, &urn(1)), drift(&Reconcile::default(), &urn(1))),
            (Drift::Report, Drift::Repair)
        );
        let other = Urn::parse("urn:purlin:dev/o::a::shared::dns.default::shared.x").expect("a URN");
        assert_eq!(interval(&policy, &other), SHORTEST);

        // LIFE-11: an interval below a second becomes a second.
        let mut schedule = Schedule::new(1);
        schedule.set_resources(&[&urn(0)], 0);
        schedule.was_read(&urn(0), 0, Duration::from_secs(600));
        let own = HashMap::from([(urn(0), Duration::from_millis(100))]);
        schedule.set_own_intervals(own.clone(), 0, &every(600));
        assert_eq!(schedule.next(0), 1_000);
        schedule.was_read(&urn(0), 1_000, Duration::from_secs(600));
        assert!((1_950..=2_050).contains(&schedule.next(1_000)));
        // LIFE-13: a request takes effect at once.
        schedule.was_read(&urn(0), 2_000, Duration::from_secs(600));
        schedule.request(&urn(0), 2_001);
        assert_eq!(schedule.due(2_001, &every(600)), [urn(0)]);
    }
}
