//! Plays a recorded run at its own pace: given the time since the start, tells which events are due.

use super::LabEvent;

/// A position in a recording.
#[derive(Debug, Clone)]
pub struct Player {
    /// Events with the time at which each is due, ns after the start of the run.
    events: Vec<(u64, LabEvent)>,
    next: usize,
}

impl Player {
    /// Lays out the events; one that carries no time is due with the one before it.
    pub fn new(events: Vec<LabEvent>) -> Self {
        let start = events.iter().find_map(LabEvent::mono_ns).unwrap_or(0);
        let mut at = 0;
        let events = events
            .into_iter()
            .map(|event| {
                at = at.max(event.mono_ns().map_or(0, |ns| ns.saturating_sub(start)));
                (at, event)
            })
            .collect();
        Self { events, next: 0 }
    }

    /// Events due up to `elapsed_ns` after the start that were not handed out before.
    pub fn due(&mut self, elapsed_ns: u64) -> Vec<LabEvent> {
        let from = self.next;
        while self.events.get(self.next).is_some_and(|(at, _)| *at <= elapsed_ns) {
            self.next += 1;
        }
        self.events[from..self.next].iter().map(|(_, event)| event.clone()).collect()
    }

    /// When the next event is due, ns after the start; `None` at the end.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.events.get(self.next).map(|(at, _)| *at)
    }

    /// Length of the recording, ns.
    pub fn length_ns(&self) -> u64 {
        self.events.last().map_or(0, |(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Exited;
    use super::*;

    #[test]
    fn events_come_once_and_in_time() {
        let exited = |mono_ns| LabEvent::Exited(Exited { code: None, signal: None, mono_ns });
        let log = LabEvent::Log { line: "x".into() };
        let mut player = Player::new(vec![exited(100), log.clone(), exited(150), exited(120), exited(300)]);
        assert_eq!(player.due(0), [exited(100), log]);
        assert_eq!(player.due(49), []);
        assert_eq!(player.due(50).len(), 2);
        assert_eq!(player.next_due_ns(), Some(200));
        assert_eq!(player.due(u64::MAX), [exited(300)]);
        assert_eq!((player.next_due_ns(), player.length_ns()), (None, 200));
    }
}
