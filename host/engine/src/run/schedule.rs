//! Decides which step may begin, by counting alone.

use std::collections::BTreeSet;

/// Steps that wait for each other. Indices are those of the plan's operations.
pub(crate) struct Schedule {
    waiting: Vec<u32>,
    followers: Vec<Vec<u32>>,
    ready: BTreeSet<u32>,
    blocked: Vec<bool>,
}

impl Schedule {
    /// Takes for each step the list of steps that must be done before it.
    pub(crate) fn new<'a>(after: impl ExactSizeIterator<Item = &'a [u32]>) -> Self {
        let steps = after.len();
        let mut schedule = Self {
            waiting: vec![0; steps],
            followers: vec![Vec::new(); steps],
            ready: BTreeSet::new(),
            blocked: vec![false; steps],
        };
        for (index, before) in (0u32..).zip(after) {
            schedule.waiting[index as usize] = before.len() as u32;
            if before.is_empty() {
                schedule.ready.insert(index);
            }
            for step in before {
                schedule.followers[*step as usize].push(index);
            }
        }
        schedule
    }

    /// The next step that may begin, the first in the plan's order.
    pub(crate) fn next(&mut self) -> Option<u32> {
        self.ready.pop_first()
    }

    /// Notes that a step is done. Steps that waited only for it may begin.
    pub(crate) fn done(&mut self, step: u32) {
        for follower in std::mem::take(&mut self.followers[step as usize]) {
            let waiting = &mut self.waiting[follower as usize];
            *waiting -= 1;
            if *waiting == 0 && !self.blocked[follower as usize] {
                self.ready.insert(follower);
            }
        }
    }

    /// Notes that a step failed. The steps that wait for it, directly or indirectly, will not
    /// begin. Returns those steps in the plan's order, each only once over all calls.
    pub(crate) fn failed(&mut self, step: u32) -> Vec<u32> {
        let mut found = BTreeSet::new();
        let mut stack = vec![step];
        while let Some(step) = stack.pop() {
            for follower in std::mem::take(&mut self.followers[step as usize]) {
                if !std::mem::replace(&mut self.blocked[follower as usize], true) {
                    found.insert(follower);
                    stack.push(follower);
                }
            }
        }
        found.into_iter().collect()
    }

    /// Takes the steps that never began, in the plan's order, after a run was cancelled.
    pub(crate) fn rest(&mut self, begun: &[bool]) -> Vec<u32> {
        self.ready.clear();
        (0u32..)
            .zip(begun)
            .filter(|(step, begun)| !**begun && !std::mem::replace(&mut self.blocked[*step as usize], true))
            .map(|(step, _)| step)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(after: &[&[u32]]) -> Schedule {
        Schedule::new(after.iter().copied())
    }

    #[test]
    fn steps_begin_when_all_before_them_are_done() {
        let mut s = schedule(&[&[], &[0], &[], &[1, 2]]);
        assert_eq!((s.next(), s.next(), s.next()), (Some(0), Some(2), None));
        s.done(2);
        assert_eq!(s.next(), None);
        s.done(0);
        assert_eq!(s.next(), Some(1));
        s.done(1);
        assert_eq!((s.next(), s.next()), (Some(3), None));
    }

    #[test]
    fn a_failure_blocks_only_the_steps_after_it() {
        let mut s = schedule(&[&[], &[0], &[], &[1, 2], &[2]]);
        assert_eq!((s.next(), s.next()), (Some(0), Some(2)));
        assert_eq!(s.failed(0), [1, 3]);
        s.done(2);
        assert_eq!((s.next(), s.next()), (Some(4), None));
        assert!(s.rest(&[true, false, true, false, true]).is_empty());
    }

    #[test]
    fn steps_that_never_began_remain_after_cancellation() {
        let mut s = schedule(&[&[], &[0], &[]]);
        assert_eq!(s.next(), Some(0));
        assert_eq!(s.rest(&[true, false, false]), [1, 2]);
        assert_eq!(s.next(), None);
    }
}
