//! Compiles the C++ shim of the worker against LibTorch's headers. Does nothing without the feature `torch`.

fn main() {
    #[cfg(feature = "torch")]
    shim::compile();
    #[cfg(not(feature = "torch"))]
    println!("cargo:rerun-if-changed=build.rs");
}

#[cfg(feature = "torch")]
mod shim {
    use std::path::PathBuf;

    /// No run path is recorded: whoever starts the worker sets the library path, so one binary serves any machine.
    pub(crate) fn compile() {
        println!("cargo:rerun-if-changed=build.rs");
        for file in ["shim.h", "shim.cpp", "shim_graph.cpp"] {
            println!("cargo:rerun-if-changed=src/torch/{file}");
        }
        println!("cargo:rerun-if-env-changed=LIBTORCH");
        println!("cargo:rerun-if-env-changed=LIBTORCH_CXX11_ABI");
        let include = libtorch().join("include");
        let abi = std::env::var("LIBTORCH_CXX11_ABI").unwrap_or_else(|_| "1".into());
        cc::Build::new()
            .cpp(true)
            .pic(true)
            .std("c++17")
            // The warnings of LibTorch's own headers are not ours to fix.
            .warnings(false)
            .define("_GLIBCXX_USE_CXX11_ABI", abi.as_str())
            .include(include.join("torch/csrc/api/include"))
            .include(include)
            .file("src/torch/shim.cpp")
            .file("src/torch/shim_graph.cpp")
            .compile("infralab_shim");
    }

    fn libtorch() -> PathBuf {
        let Some(root) = std::env::var_os("LIBTORCH").map(PathBuf::from) else {
            panic!(
                "LIBTORCH is not set, so the worker cannot find LibTorch 2.11.0. \
                 Set LIBTORCH to the folder that holds its `include` and `lib` \
                 (in a Python environment: <site-packages>/torch), or run `infralab engine install`."
            );
        };
        let header = root.join("include/c10/core/CachingDeviceAllocator.h");
        assert!(
            header.is_file(),
            "LIBTORCH={} is not LibTorch 2.11.0: {} is missing. \
             Point LIBTORCH at the folder that holds `include` and `lib`.",
            root.display(),
            header.display()
        );
        root
    }
}
