//! How a lab ends before its end.

use tch::TchError;

use crate::protocol::Failure;

/// What can end a measurement or a lab.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The app asked for it, or went away.
    #[error("stopped on request")]
    Stopped,
    /// The device's allocator refused. The lab can give memory back and go on.
    #[error("{0}")]
    OutOfMemory(String),
    /// Anything else that LibTorch threw: its first line.
    #[error("{0}")]
    Torch(String),
    /// Already put in words for the learner.
    #[error("{}", .0.what)]
    Failed(Failure),
}

/// Words by which the allocators and libraries below LibTorch say that memory ran out.
const OUT_OF_MEMORY: [&str; 4] =
    ["out of memory", "can't allocate memory", "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED"];

impl Error {
    /// Sorts a LibTorch message; what follows its first line is a C++ backtrace.
    pub(crate) fn from_message(message: &str) -> Self {
        let line = message.lines().find(|l| !l.trim().is_empty()).unwrap_or("no message").trim().to_owned();
        if OUT_OF_MEMORY.iter().any(|words| message.contains(words)) {
            Self::OutOfMemory(line)
        } else {
            Self::Torch(line)
        }
    }

    /// True when the device itself is lost to this process, so that nothing else can be measured on it.
    pub fn is_sticky(&self) -> bool {
        matches!(self, Self::Torch(message) if message.contains("CUDA error"))
    }

    /// In words for the learner.
    pub fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Stopped => Failure {
                what: "the lab was stopped".into(),
                why: "a stop was requested".into(),
                next: "start it again".into(),
            },
            Self::OutOfMemory(why) => Failure {
                what: "the device's memory ran out where the lab cannot go on without it".into(),
                why,
                next: "free memory on the device, choose a smaller size, or lower batch, heads or max_n"
                    .into(),
            },
            Self::Torch(why) => Failure {
                what: "LibTorch reported an error".into(),
                why,
                next:
                    "try --device cpu or a smaller size; `infralab doctor` checks the engine and the driver"
                        .into(),
            },
        }
    }
}

impl From<TchError> for Error {
    fn from(error: TchError) -> Self {
        match error {
            TchError::Torch(message) => Self::from_message(&message),
            other => Self::Torch(other.to_string()),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_both_allocators_are_told_from_other_errors() {
        let cuda = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total\nframe #0: c10::Error";
        let cpu = "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you \
                   tried to allocate 9 bytes. Error code 12 (Cannot allocate memory)";
        assert!(matches!(Error::from_message(cuda), Error::OutOfMemory(m) if !m.contains("frame")));
        assert!(matches!(Error::from_message(cpu), Error::OutOfMemory(_)));
        let lost = Error::from_message("CUDA error: an illegal memory access was encountered");
        assert!(lost.is_sticky() && !Error::from_message("mat1 and mat2 shapes").is_sticky());
    }
}
