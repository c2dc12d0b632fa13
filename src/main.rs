//! Parses arguments, then starts the interface or one command. Exit codes: 0 done, 1 a negative answer, 2 usage or
//! set-up.

use std::process::ExitCode;

fn main() -> ExitCode {
    infralab::cli::main()
}
