//! Stand-ins for tests: a directory of fake tools, a home with an engine, a LibTorch that is only files.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::{
    Driver, Host, Set,
    record::{Built, Record},
    sources,
};
use crate::paths::Paths;

/// A directory of scripts that stands for PATH.
pub(super) struct Bin(TempDir);

impl Bin {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    /// With a Python, a cargo and a C++ compiler that do what an installation needs, and write what they were asked
    /// for to `log`. A file `fail-WORD` makes the step with that word in its arguments fail.
    pub(super) fn with_tools() -> Self {
        let bin = Self::new();
        bin.script("python3", PYTHON);
        bin.script("cargo", &CARGO.replace("HELLO", &hello_line(infralab_labs::protocol::PROTOCOL_VERSION)));
        bin.script("c++", "echo 'c++ 14.2.0'");
        bin
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn script(&self, name: &str, body: &str) -> PathBuf {
        write_executable(&self.path(name), &format!("BIN='{}'\n{body}", self.0.path().display()));
        self.path(name)
    }

    pub(super) fn host(&self) -> Host {
        self.host_with(Driver { absent_because: Some("none".into()), ..Driver::default() })
    }

    pub(super) fn host_with(&self, driver: Driver) -> Host {
        Host::with(self.0.path(), driver)
    }

    pub(super) fn fail(&self, word: &str, fails: bool) {
        let switch = self.path(&format!("fail-{word}"));
        if fails { fs::write(switch, "") } else { fs::remove_file(switch) }.expect("switched");
    }

    /// What the tools were asked for, since the last call.
    pub(super) fn take_log(&self) -> Vec<String> {
        let lines = fs::read_to_string(self.path("log")).unwrap_or_default();
        let _ = fs::remove_file(self.path("log"));
        lines.lines().map(str::to_owned).collect()
    }
}

const PYTHON: &str = r#"
for word in "$@"; do [ -e "$BIN/fail-$word" ] && { echo "ERROR: $word fails"; echo "after"; exit 1; }; done
case "$1 $2 $3" in
    "-c "*) echo 3.12.3 glibc 2.39 ;;
    "-m venv --clear")
        echo venv >> "$BIN/log"
        rm -rf "$4"; mkdir -p "$4/bin" "$4/lib/python3.12/site-packages"; cp "$BIN/python3" "$4/bin/python3" ;;
    "-m pip --version") echo "pip ${PIP_FAKE:-26.3} from somewhere" ;;
    "-m pip download")
        for word in "$@"; do case "$previous" in --dest) to=$word ;; esac; previous=$word; done
        echo "download $word" >> "$BIN/log"
        echo "Progress 0 of 1000"; echo "Progress 1000 of 1000"
        touch "$to/$(echo "$word" | sed 's/==/ /; s/-/_/g; s/ /-/')-py3-none-any.whl" ;;
    "-m pip install")
        for word in "$@"; do :; done
        packages=$(ls -d "$(dirname "$0")"/../lib/python3.12/site-packages)
        stem=$(basename "$word" | sed 's/-py3-none-any.whl//')
        [ -e "$BIN/fail-$stem" ] && { echo "ERROR: $stem fails"; exit 1; }
        echo "install $stem" >> "$BIN/log"
        case "$stem" in torch-*)
            mkdir -p "$packages/torch/lib" "$packages/torch/include/torch"
            touch "$packages/torch/lib/libtorch_cpu.so"
            echo "__version__ = '2.11.0+cu130'" > "$packages/torch/version.py" ;;
        esac
        mkdir -p "$packages/$stem.dist-info"; touch "$packages/$stem.dist-info/INSTALLER" ;;
    *) echo "ERROR: unexpected: $*"; exit 9 ;;
esac
"#;

const CARGO: &str = r#"
[ "$1" = --version ] && { echo "cargo 1.99.0 (fake)"; exit 0; }
echo "cargo build with $LIBTORCH ${LIBTORCH_BYPASS_VERSION_CHECK:-checked}" >> "$BIN/log"
printf '    Building [=>   ] 3/10: tch\r' >&2
[ -e "$BIN/fail-cargo" ] && { echo "error: linker not found" >&2; exit 101; }
printf '#!/bin/sh\necho '"'"'HELLO'"'"'\n' > "$BIN/built"
chmod +x "$BIN/built"
echo '{"reason":"compiler-artifact","target":{"name":"infralab-worker"},"executable":"'"$BIN"'/built"}'
"#;

/// A throw-away data directory.
pub(super) struct Home {
    pub(super) dir: TempDir,
    pub(super) paths: Paths,
}

impl Home {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let paths = Paths::new(Some(&dir.path().join("data"))).expect("absolute");
        Self { dir, paths }
    }

    /// A LibTorch outside the data directory.
    pub(super) fn external_libtorch(&self, version: &str) -> PathBuf {
        let dir = self.dir.path().join("opt/torch");
        write_libtorch(&dir, version);
        dir
    }

    /// Records an external `libtorch`, and `worker` as built now from these sources.
    pub(super) fn record(&self, libtorch: &Path, worker: Option<&Path>) -> Record {
        let engine = self.paths.engine();
        fs::create_dir_all(&engine).expect("created");
        let mut record = Record::new(libtorch.into(), "2.11.0".into(), Set::External);
        record.worker = worker.map(|path| Built {
            path: path.into(),
            sources: sources::fingerprint(),
            infralab: env!("CARGO_PKG_VERSION").into(),
            libtorch: libtorch.into(),
            date: jiff::Timestamp::UNIX_EPOCH,
        });
        record.write(&engine).expect("written");
        record
    }
}

pub(super) fn write_libtorch(dir: &Path, version: &str) {
    for part in ["lib", "include/torch"] {
        fs::create_dir_all(dir.join(part)).expect("created");
    }
    fs::write(dir.join("lib/libtorch_cpu.so"), "").expect("written");
    fs::write(dir.join("build-version"), version).expect("written");
}

/// Writes a shell script. Another process holds the file open while it is written: a test that forks meanwhile would
/// otherwise pass a writable descriptor on, and starting the script would fail with "text file busy".
pub(super) fn write_executable(path: &Path, body: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("created");
    let text = path.with_extension("text");
    fs::write(&text, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{body}\n")).expect("written");
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).expect("executable");
    let copied =
        Command::new("cp").arg("-f").args([&text, path]).stdin(Stdio::null()).status().expect("cp runs");
    assert!(copied.success());
    fs::remove_file(text).expect("removed");
}

/// What a worker of this protocol version says first.
pub(super) fn hello_line(protocol: u32) -> String {
    use infralab_labs::protocol::{Device, DeviceKind, Event, Hello};
    let device = Device {
        kind: DeviceKind::Cpu,
        index: None,
        name: "a processor".into(),
        uuid: None,
        total_memory_bytes: None,
        free_memory_bytes: None,
        compute_capability: None,
        sm_count: None,
    };
    let hello = Hello {
        protocol,
        worker: env!("CARGO_PKG_VERSION").into(),
        libtorch: "2.11.0".into(),
        cudnn: None,
        device,
        cuda_devices: 0,
        cuda_absent_because: Some("none".into()),
        pid: 1,
        cpu_threads: 2,
        mono_ns: 1,
        unix_ms: 1,
    };
    serde_json::to_string(&Event::Hello(hello)).expect("it serialises")
}
