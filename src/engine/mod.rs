//! The engine of the labs: LibTorch, and the worker built against it. Finds them ([`Engine::locate`]), installs them
//! ([`plan`](fn@plan) then [`install`](fn@install)), removes them ([`plan_removal`], [`remove`]). Prints nothing and asks
//! nothing: callers show the plan, ask, and draw the [`Progress`].

mod build;
mod driver;
#[cfg(test)]
mod fake;
mod fault;
mod host;
mod install;
mod libtorch;
mod locate;
mod packages;
mod pip;
mod plan;
mod process;
mod progress;
mod record;
mod removal;
mod sources;
mod worker;

pub use driver::{Driver, DriverVerdict, Gpu, MINIMUM_DRIVER};
pub use fault::{Fault, Interrupted};
pub use host::{Host, Tool};
pub use install::{Installed, install};
pub use libtorch::{LIBTORCH_VERSION, LibTorch};
pub use locate::{Engine, EngineState, LIBTORCH_VARIABLE, Ready, WORKER_VARIABLE};
pub use packages::{Package, Set};
pub use plan::{Devices, Options, Plan, plan};
pub use process::Cancel;
pub use progress::{Progress, Step};
pub use removal::{Removal, plan_removal, remove};
pub use sources::Sources;
pub use worker::{hello, worker_command};
