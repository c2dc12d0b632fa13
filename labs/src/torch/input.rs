//! Requests in: one JSON object a line on stdin.

use std::io::{BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::process;
use crate::protocol::{Failure, Request};

/// Longest request line; a request has a few hundred bytes.
const LINE_BYTES: u64 = 1 << 20;

/// Whether the app asked for the end. Clones see the same flag.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// True from the moment a stop was requested.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads one request. `None`: stdin ended.
pub fn read_request(input: &mut impl BufRead) -> Result<Option<Request>, Failure> {
    let mut line = Vec::new();
    let refused = |why: String| Failure {
        what: "the worker could not read its request".into(),
        why,
        next: "start labs with `infralab lab run`; app and worker must be of the same version".into(),
    };
    input.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line).map_err(|e| refused(e.to_string()))?;
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(|e| refused(e.to_string()))
}

/// Listens for a stop on its own thread. When stdin ends the process ends with code 1, wherever the lab is: whoever
/// started it is gone, and a GPU should not stay taken.
pub fn listen(mut input: impl BufRead + Send + 'static) -> std::io::Result<StopFlag> {
    let flag = StopFlag::default();
    let set = flag.clone();
    std::thread::Builder::new().name("protocol-in".into()).spawn(move || {
        loop {
            match read_request(&mut input) {
                Ok(Some(Request::Stop)) => set.0.store(true, Ordering::Relaxed),
                Ok(Some(Request::Run(_))) | Err(_) => {}
                Ok(None) => process::abandon(1),
            }
        }
    })?;
    Ok(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_of_input_and_nonsense_are_told_apart() {
        let mut input = &b"{\"type\":\"stop\"}\nnonsense\n"[..];
        assert_eq!(read_request(&mut input), Ok(Some(Request::Stop)));
        assert!(read_request(&mut input).expect_err("nonsense").why.contains("expected"));
        assert_eq!(read_request(&mut input), Ok(None));
    }
}
