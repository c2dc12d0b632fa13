//! Plays a recorded run: given the time, tells which events are due. Knows no clock and no screen.

use std::ops::RangeInclusive;

use super::LabEvent;

/// Speeds of a replay, times the recorded pace.
pub const SPEED_RANGE: RangeInclusive<f64> = 0.1..=100.0;
/// Speeds that faster and slower step through.
const SPEEDS: [f64; 10] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
/// Ticks further apart than this were not seen by anybody, and the recording waits for its viewer: 1 s.
const MOST_BETWEEN_TICKS_NS: u64 = 1_000_000_000;

/// An event with the time at which it is due, ns after the start of the recording.
pub type Due = (u64, LabEvent);

/// Lays events out in time; one that carries no time, or an earlier one, is due with the one before it.
pub fn laid_out(events: Vec<LabEvent>) -> Vec<Due> {
    let start = events.iter().find_map(LabEvent::mono_ns).unwrap_or(0);
    let mut at = 0;
    events
        .into_iter()
        .map(|event| {
            at = at.max(event.mono_ns().map_or(0, |ns| ns.saturating_sub(start)));
            (at, event)
        })
        .collect()
}

/// What a viewer has to do to show the new position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Advance<'a> {
    /// These follow those that it was given before.
    Append(&'a [Due]),
    /// Forget all and begin with these, from the start of the recording on.
    Rebuild(&'a [Due]),
}

/// A position in a recording that moves: forward by itself, and both ways on demand. The events that its viewer was
/// given are always those due up to the position, whatever way led there.
#[derive(Debug, Clone)]
pub struct Playback {
    events: Vec<Due>,
    /// How many of them were given out.
    given: usize,
    at_ns: u64,
    speed: f64,
    is_paused: bool,
    /// Time of the last tick; `None` when the next one begins to count.
    ticked_ns: Option<u64>,
}

impl Playback {
    /// A recording at its start, playing at its own pace from the first tick on; nothing is given out yet.
    pub fn new(events: Vec<LabEvent>) -> Self {
        Self { events: laid_out(events), given: 0, at_ns: 0, speed: 1.0, is_paused: false, ticked_ns: None }
    }

    /// Length of the recording, ns.
    pub fn length_ns(&self) -> u64 {
        self.events.last().map_or(0, |(at, _)| *at)
    }

    /// Position, ns after the start; at most the length.
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// Times the recorded pace, within [`SPEED_RANGE`].
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Whether it was told to stand still.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether everything was given out.
    pub fn is_at_end(&self) -> bool {
        self.given == self.events.len()
    }

    /// Whether ticks move it.
    pub fn is_playing(&self) -> bool {
        !self.is_paused && !self.is_at_end()
    }

    /// Lets time pass: `now_ns` on any clock that does not go back.
    pub fn tick(&mut self, now_ns: u64) -> Advance<'_> {
        let before = self.ticked_ns.replace(now_ns).unwrap_or(now_ns);
        let passed_ns = now_ns.saturating_sub(before).min(MOST_BETWEEN_TICKS_NS);
        let on_ns = if self.is_playing() { (passed_ns as f64 * self.speed) as u64 } else { 0 };
        self.seek(self.at_ns.saturating_add(on_ns))
    }

    /// Plays from the start on, counted from the next tick.
    pub fn restart(&mut self) -> Advance<'_> {
        self.is_paused = false;
        self.ticked_ns = None;
        self.seek(0)
    }

    /// Stands still, or goes on; at the end it begins anew.
    pub fn pause_or_go_on(&mut self) -> Advance<'_> {
        if self.is_at_end() {
            return self.restart();
        }
        self.is_paused = !self.is_paused;
        self.ticked_ns = None;
        self.seek(self.at_ns)
    }

    /// Goes to a position, ns after the start; beyond the end, to the end.
    pub fn seek(&mut self, to_ns: u64) -> Advance<'_> {
        self.at_ns = to_ns.min(self.length_ns());
        let due = self.events.partition_point(|(at, _)| *at <= self.at_ns);
        let given = std::mem::replace(&mut self.given, due);
        if due < given {
            Advance::Rebuild(&self.events[..due])
        } else {
            Advance::Append(&self.events[given..due])
        }
    }

    /// Goes on by so many percent of the length, or back.
    pub fn seek_by_pct(&mut self, pct: i8) -> Advance<'_> {
        let away_ns = (u128::from(self.length_ns()) * u128::from(pct.unsigned_abs()) / 100) as u64;
        let to_ns =
            if pct < 0 { self.at_ns.saturating_sub(away_ns) } else { self.at_ns.saturating_add(away_ns) };
        self.seek(to_ns)
    }

    /// Goes to the next snapshot, or to the one before, and stands still there. Beyond the last is the end, before the
    /// first the start.
    pub fn step(&mut self, is_forward: bool) -> Advance<'_> {
        self.is_paused = true;
        let snapshots = |part: &'_ [Due], skipped: Option<u64>| {
            let times =
                part.iter().filter(|(_, event)| matches!(event, LabEvent::Snapshot(_))).map(|(at, _)| *at);
            let mut times = times.filter(|at| Some(*at) != skipped);
            if is_forward { times.next() } else { times.next_back() }
        };
        let due = self.events.partition_point(|(at, _)| *at <= self.at_ns);
        let to_ns = if is_forward {
            snapshots(&self.events[due..], None).unwrap_or(u64::MAX)
        } else {
            let shown = snapshots(&self.events[..due], None);
            snapshots(&self.events[..due], shown).unwrap_or(0)
        };
        self.seek(to_ns)
    }

    /// The next faster or slower pace.
    pub fn change_speed(&mut self, is_faster: bool) {
        let next = if is_faster {
            SPEEDS.into_iter().find(|s| *s > self.speed)
        } else {
            SPEEDS.into_iter().rfind(|s| *s < self.speed)
        };
        self.set_speed(next.unwrap_or(self.speed));
    }

    /// Another pace, brought into [`SPEED_RANGE`]; what is no number is the recorded pace.
    pub fn set_speed(&mut self, speed: f64) {
        let speed = if speed.is_nan() { 1.0 } else { speed };
        self.speed = speed.clamp(*SPEED_RANGE.start(), *SPEED_RANGE.end());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Exited;
    use super::*;
    use crate::telemetry::Snapshot;

    fn exited(mono_ns: u64) -> LabEvent {
        LabEvent::Exited(Exited { code: None, signal: None, mono_ns })
    }

    fn snapshot(mono_ns: u64) -> LabEvent {
        LabEvent::Snapshot(Snapshot { mono_ns, ..Snapshot::default() })
    }

    fn log() -> LabEvent {
        LabEvent::Log { line: "x".into() }
    }

    #[test]
    fn events_come_once_in_time_and_never_before_those_that_came_before() {
        let mut playback = Playback::new(vec![exited(100), log(), exited(150), exited(120), exited(300)]);
        assert_eq!(playback.length_ns(), 200);
        assert_eq!(playback.tick(1000), Advance::Append(&[(0, exited(100)), (0, log())]));
        assert_eq!(playback.tick(1049), Advance::Append(&[]));
        assert_eq!(playback.tick(1050), Advance::Append(&[(50, exited(150)), (50, exited(120))]));
        assert!(playback.is_playing());
        assert_eq!(playback.tick(u64::MAX), Advance::Append(&[(200, exited(300))]));
        assert!(playback.is_at_end() && !playback.is_playing());
    }

    #[test]
    fn it_stands_still_steps_and_begins_anew_at_the_end() {
        let mut playback = Playback::new(vec![exited(0), snapshot(10), log(), snapshot(20), snapshot(40)]);
        playback.tick(0);
        playback.pause_or_go_on();
        playback.tick(1000);
        assert_eq!((playback.at_ns(), playback.is_paused()), (0, true));
        playback.step(true);
        playback.step(true);
        assert_eq!(playback.at_ns(), 20);
        assert_eq!(
            playback.step(false),
            Advance::Rebuild(&[(0, exited(0)), (10, snapshot(10)), (10, log())])
        );
        assert_eq!(playback.step(false), Advance::Rebuild(&[(0, exited(0))]));
        playback.seek_by_pct(90);
        playback.step(false);
        assert_eq!(
            playback.at_ns(),
            10,
            "between two snapshots the one before is shown; a step shows one fewer"
        );
        playback.seek(u64::MAX);
        assert!(playback.is_at_end());
        playback.pause_or_go_on();
        assert_eq!((playback.at_ns(), playback.is_playing()), (0, true));
        playback.tick(5000);
        playback.tick(5010);
        assert_eq!(playback.at_ns(), 10, "time before it went on does not count");
    }

    #[test]
    fn time_that_nobody_watched_does_not_pass() {
        let mut playback = Playback::new(vec![exited(0), exited(60_000_000_000)]);
        playback.tick(0);
        playback.tick(50_000_000_000);
        assert_eq!(playback.at_ns(), MOST_BETWEEN_TICKS_NS);
    }

    #[test]
    fn an_empty_recording_is_over_at_once() {
        let mut playback = Playback::new(Vec::new());
        assert_eq!(playback.tick(7), Advance::Append(&[]));
        for forward in [true, false] {
            assert_eq!(playback.step(forward), Advance::Append(&[]));
        }
        assert!(playback.is_at_end() && playback.length_ns() == 0);
    }

    #[derive(Debug, Clone)]
    enum Doing {
        Tick(u64),
        Pause,
        Seek(u64),
        SeekBy(i8),
        Step(bool),
        Change(bool),
        Set(f64),
    }

    fn doing() -> impl Strategy<Value = Doing> {
        prop_oneof![
            (0_u64..2_000).prop_map(Doing::Tick),
            Just(Doing::Pause),
            prop_oneof![0_u64..2_000, Just(u64::MAX)].prop_map(Doing::Seek),
            (-100_i8..=100).prop_map(Doing::SeekBy),
            any::<bool>().prop_map(Doing::Step),
            any::<bool>().prop_map(Doing::Change),
            any::<f64>().prop_map(Doing::Set),
        ]
    }

    fn events() -> impl Strategy<Value = Vec<LabEvent>> {
        let event = prop_oneof![
            (0_u64..1_000).prop_map(snapshot),
            (0_u64..1_000).prop_map(exited),
            Just(log()),
            Just(snapshot(u64::MAX)),
        ];
        proptest::collection::vec(event, 0..40)
    }

    /// What a viewer holds who does as it is told.
    fn follow(shown: &mut Vec<Due>, advance: Advance<'_>) {
        match advance {
            Advance::Append(events) => shown.extend_from_slice(events),
            Advance::Rebuild(events) => *shown = events.to_vec(),
        }
    }

    fn perform(playback: &mut Playback, shown: &mut Vec<Due>, now: &mut u64, doing: &Doing) {
        match doing {
            Doing::Tick(ns) => {
                *now += ns;
                follow(shown, playback.tick(*now));
            }
            Doing::Pause => follow(shown, playback.pause_or_go_on()),
            Doing::Seek(ns) => follow(shown, playback.seek(*ns)),
            Doing::SeekBy(pct) => follow(shown, playback.seek_by_pct(*pct)),
            Doing::Step(forward) => follow(shown, playback.step(*forward)),
            Doing::Change(faster) => playback.change_speed(*faster),
            Doing::Set(speed) => playback.set_speed(*speed),
        }
    }

    proptest! {
        #[test]
        fn whatever_is_done_the_viewer_has_what_is_due_and_all_is_within_bounds(
            events in events(),
            doings in proptest::collection::vec(doing(), 0..60),
        ) {
            let mut playback = Playback::new(events);
            let (mut shown, mut now) = (Vec::new(), 0);
            follow(&mut shown, playback.tick(now));
            for doing in &doings {
                let (before, is_stopped) = (playback.at_ns(), playback.is_paused());
                perform(&mut playback, &mut shown, &mut now, doing);
                let at = playback.at_ns();
                prop_assert!(at <= playback.length_ns());
                prop_assert!(SPEED_RANGE.contains(&playback.speed()));
                let due: Vec<Due> = playback.events.iter().filter(|(due, _)| *due <= at).cloned().collect();
                prop_assert_eq!(&shown, &due);
                prop_assert_eq!(playback.is_at_end(), shown.len() == playback.events.len());
                match doing {
                    Doing::Tick(_) if is_stopped => prop_assert_eq!(at, before),
                    Doing::Tick(_) | Doing::Step(true) => prop_assert!(at >= before),
                    Doing::Step(false) => prop_assert!(at <= before),
                    _ => {}
                }
            }
        }

        #[test]
        fn to_seek_and_then_play_is_to_play(
            events in events(),
            doings in proptest::collection::vec(doing(), 0..20),
        ) {
            let all = laid_out(events.clone());
            let mut playback = Playback::new(events);
            let (mut shown, mut now) = (Vec::new(), 0);
            for doing in &doings {
                perform(&mut playback, &mut shown, &mut now, doing);
            }
            if playback.is_paused() {
                follow(&mut shown, playback.pause_or_go_on());
            }
            // However far it is: the longest recording is 2^64 ns.
            follow(&mut shown, playback.tick(now));
            let rest = playback.length_ns();
            follow(&mut shown, playback.seek(rest));
            prop_assert_eq!(shown, all);
        }

        #[test]
        fn a_step_on_shows_one_snapshot_more_and_a_step_back_takes_it_away(
            gaps in proptest::collection::vec(1_u64..100, 1..30),
            from in 0_usize..30,
        ) {
            let mut at = 0;
            let events: Vec<_> = gaps.into_iter().map(|gap| { at += gap; snapshot(at) }).collect();
            let count = events.len();
            let mut playback = Playback::new(events);
            let (mut shown, mut now) = (Vec::new(), 0);
            perform(&mut playback, &mut shown, &mut now, &Doing::Seek(0));
            for _ in 0..from {
                perform(&mut playback, &mut shown, &mut now, &Doing::Step(true));
            }
            let before = shown.len();
            prop_assert_eq!(before, (from + 1).min(count));
            perform(&mut playback, &mut shown, &mut now, &Doing::Step(true));
            if before < count {
                prop_assert_eq!(shown.len(), before + 1);
                perform(&mut playback, &mut shown, &mut now, &Doing::Step(false));
                prop_assert_eq!(shown.len(), before);
            }
        }
    }
}
