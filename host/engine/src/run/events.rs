//! The order of events. Operations begin before the results of their predecessors are durable.
//! Their events are held back until the predecessors' ends were sent. A dependent therefore starts
//! after its dependency succeeded, and the same run always sends the same sequence.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purlin_model::Key;
use tokio::sync::mpsc::UnboundedSender;

use crate::event::{Event, Phase};
use crate::plan::Action;

/// The receiver of events. A closed receiver does not stop a run.
#[derive(Clone)]
pub(crate) struct Events {
    sender: UnboundedSender<Event>,
    order: Arc<Mutex<Order>>,
}

/// Which operations may send events.
struct Order {
    /// For each operation, the number of operations that must end before its events are sent.
    waits_for: Vec<u32>,
    followers: Vec<Vec<u32>>,
    ended: Vec<bool>,
    held: HashMap<u32, HeldBack>,
    /// The operation that had the permit before, if operations run one at a time.
    last: Option<u32>,
}

/// The events of an operation that are held back.
#[derive(Default)]
struct HeldBack {
    events: Vec<Event>,
    ends: bool,
}

impl Events {
    /// Takes for each operation the list of operations that must be done before it.
    pub(crate) fn new<'a>(
        sender: UnboundedSender<Event>,
        after: impl ExactSizeIterator<Item = &'a [u32]>,
    ) -> Self {
        let operations = after.len();
        let mut order = Order {
            waits_for: vec![0; operations],
            followers: vec![Vec::new(); operations],
            ended: vec![false; operations],
            held: HashMap::new(),
            last: None,
        };
        for (index, before) in (0u32..).zip(after) {
            before.iter().for_each(|before| order.follow(index, *before));
        }
        Self { sender, order: Arc::new(Mutex::new(order)) }
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event that belongs to no operation, or comes after all of them.
    pub(crate) fn send(&self, event: Event) {
        let _ = self.sender.send(event);
    }

    /// Sends such an event about a resource.
    pub(crate) fn tell(&self, key: &Key, action: Action, phase: Phase) {
        self.send(Event::Resource { key: key.clone(), action, phase });
    }

    /// Sends an event of an operation, or holds it back.
    pub(crate) fn tell_of(&self, operation: u32, key: &Key, action: Action, phase: Phase) {
        let event = Event::Resource { key: key.clone(), action, phase };
        let mut order = self.order();
        match order.may_send(operation) {
            true => self.send(event),
            false => order.held.entry(operation).or_default().events.push(event),
        }
    }

    /// Notes that an operation sends no more events.
    pub(crate) fn end(&self, operation: u32) {
        let mut order = self.order();
        if !order.may_send(operation) {
            order.held.entry(operation).or_default().ends = true;
            return;
        }
        let mut ends = vec![operation];
        while let Some(operation) = ends.pop() {
            for follower in order.ended(operation) {
                let Some(held) = order.held.remove(&follower) else { continue };
                held.events.into_iter().for_each(|event| self.send(event));
                if held.ends {
                    ends.push(follower);
                }
            }
        }
    }

    /// Notes that an operation took the only permit: its events follow those of the operation that
    /// had the permit before.
    pub(crate) fn has_only_permit(&self, operation: u32) {
        let mut order = self.order();
        if let Some(last) = order.last.replace(operation)
            && !order.ended.get(last as usize).is_some_and(|ended| *ended)
        {
            order.follow(operation, last);
        }
    }

    /// Sends all events that are held back, since the run is over.
    pub(crate) fn flush(&self) {
        let mut held: Vec<(u32, HeldBack)> = self.order().held.drain().collect();
        held.sort_unstable_by_key(|(operation, _)| *operation);
        held.into_iter().flat_map(|(_, held)| held.events).for_each(|event| self.send(event));
    }
}

impl Order {
    fn follow(&mut self, operation: u32, before: u32) {
        let slots = (self.waits_for.get_mut(operation as usize), self.followers.get_mut(before as usize));
        if let (Some(waits_for), Some(followers)) = slots {
            *waits_for += 1;
            followers.push(operation);
        }
    }

    fn may_send(&self, operation: u32) -> bool {
        self.waits_for.get(operation as usize).is_none_or(|waits_for| *waits_for == 0)
    }

    /// The operations whose events may be sent now that this one has ended.
    fn ended(&mut self, operation: u32) -> Vec<u32> {
        if let Some(ended) = self.ended.get_mut(operation as usize) {
            *ended = true;
        }
        let followers = self.followers.get_mut(operation as usize).map(std::mem::take).unwrap_or_default();
        let mut released = Vec::new();
        for follower in followers {
            let Some(waits_for) = self.waits_for.get_mut(follower as usize) else { continue };
            *waits_for = waits_for.saturating_sub(1);
            if *waits_for == 0 {
                released.push(follower);
            }
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    fn events(after: &[&[u32]]) -> (Events, UnboundedReceiver<Event>) {
        let (sender, receiver) = unbounded_channel();
        (Events::new(sender, after.iter().copied()), receiver)
    }

    fn start(events: &Events, operation: u32) {
        let key = Key::parse(&format!("thing.default#shared.{operation}")).expect("a key");
        events.tell_of(operation, &key, Action::Create, Phase::Started);
    }

    fn received(receiver: &mut UnboundedReceiver<Event>) -> Vec<String> {
        let mut received = Vec::new();
        while let Ok(Event::Resource { key, .. }) = receiver.try_recv() {
            received.push(key.id().replace("shared.", ""));
        }
        received
    }

    #[test]
    fn events_of_an_operation_follow_those_of_its_predecessors() {
        let (events, mut receiver) = events(&[&[], &[0], &[1], &[]]);
        [2, 1, 0, 3].into_iter().for_each(|operation| start(&events, operation));
        assert_eq!(received(&mut receiver), ["0", "3"]);
        // The end of an operation is held back like its other events.
        events.end(1);
        assert!(received(&mut receiver).is_empty());
        events.end(0);
        assert_eq!(received(&mut receiver), ["1", "2"]);
    }

    #[test]
    fn with_a_single_permit_events_are_sequential() {
        let (events, mut receiver) = events(&[&[], &[], &[]]);
        for operation in [2, 0, 1] {
            events.has_only_permit(operation);
            start(&events, operation);
        }
        assert_eq!(received(&mut receiver), ["2"]);
        events.end(0);
        events.end(2);
        assert_eq!(received(&mut receiver), ["0", "1"]);
    }

    #[test]
    fn held_back_events_are_sent_at_the_end() {
        let (events, mut receiver) = events(&[&[], &[0], &[0]]);
        [2, 1].into_iter().for_each(|operation| start(&events, operation));
        events.flush();
        assert_eq!(received(&mut receiver), ["1", "2"]);
    }
}
