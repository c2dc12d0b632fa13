//! The built program from outside: its command line, its screens in a terminal, its labs through a worker.

mod calc;
mod cli;
mod history;
mod lab;
mod pty;
mod recording;
mod report;
mod terminal;
