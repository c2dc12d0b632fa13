//! The built program from outside: its command line, its screens in a terminal, its labs through a worker.

mod calc;
mod cli;
mod lab;
mod pty;
mod terminal;
