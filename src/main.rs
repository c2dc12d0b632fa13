//! placeholder
use clap::Parser;

#[derive(Parser)]
enum Command {
    Gpu(infralab::cli::gpu::GpuArgs),
}

fn main() -> anyhow::Result<std::process::ExitCode> {
    let Command::Gpu(args) = Command::parse();
    infralab::cli::gpu::run(&args)
}
