//! Rebuilds the program when embedded text changes: `include_dir!` alone does not make Cargo look.

fn main() {
    for folder in ["content", "glossary", "assets", "labs"] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
