//! The Python packages that bring LibTorch, pinned to what the metadata of the `torch` wheel asks for, with the sizes
//! that the package index states. LibTorch needs no Python at run time, so its pure Python requirements and Triton
//! are left out.

use serde::{Deserialize, Serialize};

use super::{Fault, LIBTORCH_VERSION};

/// How much of LibTorch is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Set {
    /// For the CPU: the wheel and what `libtorch_cpu` is linked with.
    Slim,
    /// For GPUs: also cuBLAS, cuDNN, NCCL and the rest of CUDA that `libtorch_cuda` is linked with.
    Full,
    /// Installed by somebody else; infralab only uses it.
    External,
}

impl std::fmt::Display for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Slim => "slim",
            Self::Full => "full",
            Self::External => "external",
        })
    }
}

/// One wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Name on the package index.
    pub name: &'static str,
    /// Exact version.
    pub version: &'static str,
    /// Size of the wheel, bytes (of the CPython 3.11 wheel where there are several; they differ by less than 0.1 %).
    pub download_bytes: u64,
    /// Size once installed, bytes.
    pub installed_bytes: u64,
}

impl Package {
    /// `name==version`.
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.name, self.version)
    }

    /// Name and version as files of the package start: `nvidia_cuda_runtime-13.0.96`.
    pub(super) fn file_stem(&self) -> String {
        format!("{}-{}", self.name.replace('-', "_"), self.version)
    }
}

/// The packages of `set` on this machine, in the order in which they are installed.
pub(super) fn packages(set: Set) -> Result<Vec<Package>, Fault> {
    packages_for(set, std::env::consts::OS, std::env::consts::ARCH)
}

fn packages_for(set: Set, os: &str, arch: &str) -> Result<Vec<Package>, Fault> {
    let column = match (os, arch) {
        ("linux", "x86_64") => |row: &Row| row.x86_64_bytes,
        ("linux", "aarch64") => |row: &Row| row.aarch64_bytes,
        ("macos", "aarch64") => {
            // The wheel of macOS has no CUDA and needs nothing beside it.
            return Ok(vec![Package {
                name: "torch",
                version: LIBTORCH_VERSION,
                download_bytes: 80_529_712,
                installed_bytes: 310_000_000,
            }]);
        }
        _ => {
            return Err(Fault::new(
                "no LibTorch to download",
                format!("there is no wheel of torch {LIBTORCH_VERSION} for {os} on {arch}"),
                "Build LibTorch there and name it with --libtorch DIR, or watch the recorded runs instead.",
            ));
        }
    };
    Ok(TABLE
        .iter()
        .filter(|row| set == Set::Full || row.slim)
        .map(|row| Package {
            name: row.name,
            version: row.version,
            download_bytes: column(row),
            installed_bytes: row.installed_bytes,
        })
        .collect())
}

struct Row {
    name: &'static str,
    version: &'static str,
    slim: bool,
    x86_64_bytes: u64,
    aarch64_bytes: u64,
    /// Measured on x86-64.
    installed_bytes: u64,
}

const fn row(name: &'static str, version: &'static str, slim: bool, bytes: [u64; 3]) -> Row {
    let [x86_64_bytes, aarch64_bytes, installed_bytes] = bytes;
    Row { name, version, slim, x86_64_bytes, aarch64_bytes, installed_bytes }
}

// `torch` 2.11.0 asks for `cuda-toolkit==13.0.2`, which pins the CUDA libraries, and for the last five itself.
const TABLE: &[Row] = &[
    row("torch", LIBTORCH_VERSION, true, [530_604_548, 419_718_178, 1_135_224_767]),
    row("nvidia-cuda-runtime", "13.0.96", true, [2_243_632, 2_261_060, 7_242_164]),
    row("nvidia-cuda-cupti", "13.0.85", true, [10_715_597, 10_310_827, 45_229_409]),
    row("nvidia-cublas", "13.1.0.3", false, [423_133_236, 542_851_226, 597_131_195]),
    row("nvidia-cuda-nvrtc", "13.0.88", false, [90_215_200, 43_015_449, 228_018_599]),
    row("nvidia-cufft", "12.0.0.61", false, [214_085_489, 214_053_554, 287_645_289]),
    row("nvidia-cufile", "1.15.1.6", false, [1_223_672, 1_136_992, 3_320_803]),
    row("nvidia-curand", "10.4.0.35", false, [59_544_258, 61_962_106, 134_864_485]),
    row("nvidia-cusolver", "12.0.4.66", false, [200_941_980, 223_467_760, 245_426_755]),
    row("nvidia-cusparse", "12.6.3.3", false, [145_942_937, 162_155_568, 162_925_842]),
    row("nvidia-nvjitlink", "13.0.88", false, [40_713_933, 38_768_748, 98_885_080]),
    row("nvidia-cudnn-cu13", "9.19.0.56", false, [366_066_321, 433_781_201, 493_806_509]),
    row("nvidia-cusparselt-cu13", "0.8.0", false, [169_884_119, 220_791_277, 233_662_021]),
    row("nvidia-nccl-cu13", "2.28.9", false, [196_493_177, 196_561_677, 218_289_883]),
    row("nvidia-nvshmem-cu13", "3.4.5", false, [60_412_546, 60_215_947, 80_809_645]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(set: Set, os: &str, arch: &str) -> Vec<&'static str> {
        packages_for(set, os, arch).expect("supported").iter().map(|package| package.name).collect()
    }

    #[test]
    fn slim_is_what_libtorch_cpu_is_linked_with() {
        assert_eq!(
            names(Set::Slim, "linux", "x86_64"),
            ["torch", "nvidia-cuda-runtime", "nvidia-cuda-cupti"]
        );
        assert_eq!(names(Set::Full, "macos", "aarch64"), ["torch"]);
    }

    #[test]
    fn full_contains_slim_and_is_about_two_and_a_half_gigabytes() {
        let full = packages_for(Set::Full, "linux", "x86_64").expect("supported");
        let slim = packages_for(Set::Slim, "linux", "x86_64").expect("supported");
        assert_eq!(full[..slim.len()], slim);
        let bytes: u64 = full.iter().map(|package| package.download_bytes).sum();
        assert!((2_400_000_000..2_600_000_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn other_machines_are_told_what_to_do() {
        let fault = packages_for(Set::Slim, "freebsd", "x86_64").expect_err("no wheel");
        assert!(fault.to_string().contains("--libtorch"), "{fault}");
    }

    #[test]
    fn file_names_use_underscores() {
        let package = packages_for(Set::Slim, "linux", "x86_64").expect("supported")[1];
        assert_eq!(package.file_stem(), "nvidia_cuda_runtime-13.0.96");
        assert_eq!(package.requirement(), "nvidia-cuda-runtime==13.0.96");
    }
}
