use super::*;
use infralab_labs::protocol::{Device, DeviceKind};

fn hello(protocol: u32) -> LabEvent {
    LabEvent::Worker(Event::Hello(Hello {
        protocol,
        worker: "0".into(),
        libtorch: "2.11.0".into(),
        cudnn: None,
        device: Device {
            kind: DeviceKind::Cpu,
            index: None,
            name: "cpu".into(),
            uuid: None,
            total_memory_bytes: None,
            free_memory_bytes: None,
            compute_capability: None,
            sm_count: None,
        },
        cuda_devices: 0,
        cuda_absent_because: None,
        pid: 1,
        cpu_threads: 1,
        mono_ns: 10,
        unix_ms: 0,
    }))
}

fn phase(name: &str, edge: Edge, mono_ns: u64) -> LabEvent {
    LabEvent::Worker(Event::Phase { name: name.into(), edge, mono_ns })
}

fn after(events: Vec<LabEvent>) -> LabSession {
    let mut session = LabSession::default();
    for event in events {
        session.apply(event);
    }
    session
}

#[test]
fn a_clean_run_goes_from_starting_to_completed() {
    let session = after(vec![
        hello(PROTOCOL_VERSION),
        phase("a", Edge::Start, 20),
        phase("a", Edge::End, 30),
        LabEvent::Worker(Event::Done { stopped: false, mono_ns: 40 }),
        LabEvent::Exited(Exited { code: Some(0), signal: None, mono_ns: 50 }),
    ]);
    assert_eq!(session.status, Status::Completed);
    assert_eq!(session.elapsed_ns(), 30);
    assert_eq!(session.spans, [Span { name: "a".into(), start_ns: 20, end_ns: Some(30) }]);
}

#[test]
fn another_protocol_is_a_failure_that_says_what_to_do() {
    let session = after(vec![hello(99)]);
    let Status::Failed(failure) = session.status else { panic!("{:?}", session.status) };
    assert!(failure.why.contains("99") && failure.next.contains("engine install"));
}

#[test]
fn a_worker_that_dies_fails_the_run_and_closes_its_phases() {
    let session = after(vec![
        hello(PROTOCOL_VERSION),
        phase("a", Edge::Start, 20),
        LabEvent::Log { line: "terminate called".into() },
        LabEvent::Exited(Exited { code: None, signal: Some(6), mono_ns: 90 }),
        phase("b", Edge::Start, 95),
    ]);
    let Status::Failed(failure) = &session.status else { panic!("{:?}", session.status) };
    assert!(failure.why.contains("signal 6") && failure.why.contains("terminate called"));
    assert_eq!(session.spans, [Span { name: "a".into(), start_ns: 20, end_ns: Some(90) }]);
}

#[test]
fn snapshots_are_bounded_and_keep_their_ends() {
    let shots = (0..3 * MAX_SNAPSHOTS as u64)
        .map(|i| LabEvent::Snapshot(Snapshot { mono_ns: i, ..Snapshot::default() }));
    let session = after(shots.collect());
    assert!(session.snapshots.len() <= MAX_SNAPSHOTS);
    assert_eq!(session.snapshots.first().map(|s| s.mono_ns), Some(0));
    assert_eq!(session.snapshots.last().map(|s| s.mono_ns), Some(3 * MAX_SNAPSHOTS as u64 - 1));
    assert!(session.snapshots.is_sorted_by_key(|s| s.mono_ns));
}

/// A run on the GPU with one reading of its memory a second: 10 s of running, then the exit.
fn gpu_run(after_exit: &[u64]) -> LabSession {
    let LabEvent::Worker(Event::Hello(mut greeting)) = hello(PROTOCOL_VERSION) else { unreachable!() };
    greeting.device.kind = DeviceKind::Cuda;
    greeting.device.index = Some(0);
    let reading = |second: u64, used: u64| {
        let gpu = crate::telemetry::GpuSnapshot { memory_used_bytes: Some(used), ..Default::default() };
        LabEvent::Snapshot(Snapshot {
            mono_ns: second * 1_000_000_000,
            gpus: vec![gpu],
            ..Snapshot::default()
        })
    };
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/runs/attention-tiny.jsonl");
    let place = crate::lab::history::Place::File(fixture.into());
    let first = crate::lab::history::load(&place).expect("the fixture run").swap_remove(0);
    let LabEvent::Header(mut header) = first else { panic!("a run begins with its header") };
    header.mono_ns = 0;
    let mut events = vec![
        LabEvent::Header(header),
        reading(1, 1 << 30),
        LabEvent::Worker(Event::Hello(greeting)),
        reading(9, 9 << 30),
    ];
    events.push(LabEvent::Exited(Exited { code: Some(0), signal: None, mono_ns: 10_000_000_000 }));
    events.extend(after_exit.iter().enumerate().map(|(i, used)| reading(11 + i as u64, *used)));
    after(events)
}

#[test]
fn a_run_on_a_gpu_is_settled_when_its_memory_is_back_or_has_had_its_time() {
    assert!(!gpu_run(&[]).settled(), "nothing was read since");
    assert!(!gpu_run(&[9 << 30]).settled(), "still held");
    let back = gpu_run(&[9 << 30, (1 << 30) + 1]);
    let memory = back.memory_return().expect("read");
    assert!(back.settled() && memory.is_back());
    assert_eq!((memory.before_bytes, memory.after_ms), (1 << 30, 2000.0));
    let kept = gpu_run(&[9 << 30, 9 << 30, 9 << 30]);
    assert!(kept.settled() && !kept.memory_return().expect("read").is_back());
}
