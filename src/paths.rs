//! Where things are kept: data (progress, runs, the engine), cache and configuration, by the XDG directories or all
//! under one directory of the reader's choice. Nothing is created before something is written.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

/// Environment variable that does what `--data` does.
pub const DATA_VARIABLE: &str = "INFRALAB_DATA";

/// The directories of one infralab. None of them need exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    data: PathBuf,
    cache: PathBuf,
    config: PathBuf,
}

/// Why the directories are unknown or cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    /// No home directory, and no directory was given.
    #[error(
        "no place to keep progress and runs: the home directory is unknown (HOME is not set); \
         name a directory with --data DIR or INFRALAB_DATA"
    )]
    NoHome,
    /// The current directory, which a relative path starts from, cannot be read.
    #[error(
        "the data directory `{0}` is relative and the current directory cannot be read ({1}); give an absolute path"
    )]
    Relative(PathBuf, #[source] std::io::Error),
    /// A directory could not be made.
    #[error(
        "cannot create {path}: {source}; make it writable, or choose another with --data DIR or INFRALAB_DATA"
    )]
    Create {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something other than a directory is in the way.
    #[error("{0} is not a directory; move it away, or choose another place with --data DIR or INFRALAB_DATA")]
    NotADirectory(PathBuf),
    /// It exists, but this user may not read or write in it.
    #[error(
        "cannot {access} {path}: {source}; change its owner or mode, or choose another with --data DIR or INFRALAB_DATA"
    )]
    Access {
        /// The directory.
        path: PathBuf,
        /// `read` or `write in`.
        access: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Paths {
    /// The XDG directories (`~/.local/share/infralab`, `~/.cache/infralab`, `~/.config/infralab`), or everything
    /// under `data` when it is given and not empty: one directory that can be moved, and that tests can throw away.
    pub fn new(data: Option<&Path>) -> Result<Self, PathsError> {
        match data.filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => {
                let data = std::path::absolute(path)
                    .map_err(|source| PathsError::Relative(path.to_path_buf(), source))?;
                Ok(Self { cache: data.join("cache"), config: data.join("config"), data })
            }
            None => Self::by_xdg(etcetera::choose_base_strategy().ok()),
        }
    }

    fn by_xdg(strategy: Option<impl BaseStrategy>) -> Result<Self, PathsError> {
        let strategy = strategy.filter(|s| s.home_dir().is_absolute()).ok_or(PathsError::NoHome)?;
        Ok(Self {
            data: strategy.data_dir().join("infralab"),
            cache: strategy.cache_dir().join("infralab"),
            config: strategy.config_dir().join("infralab"),
        })
    }

    /// Progress, runs and the engine.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What can be made again.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Settings.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// The append-only log of what the reader knows.
    pub fn progress_log(&self) -> PathBuf {
        self.data.join("progress.jsonl")
    }

    /// One file per lab run.
    pub fn runs(&self) -> PathBuf {
        self.data.join("runs")
    }

    /// LibTorch, the worker and what built it.
    pub fn engine(&self) -> PathBuf {
        self.data.join("engine")
    }

    /// Makes `directory` (one of the above, or below one) ready to be written in.
    pub fn ensure(&self, directory: &Path) -> Result<(), PathsError> {
        if directory.exists() && !directory.is_dir() {
            return Err(PathsError::NotADirectory(directory.to_path_buf()));
        }
        std::fs::create_dir_all(directory)
            .map_err(|source| PathsError::Create { path: directory.to_path_buf(), source })?;
        usable(directory)
    }

    /// Whether the data directory can be used, without creating it: the nearest directory that exists decides.
    pub fn check_data(&self) -> Result<(), PathsError> {
        if self.data.exists() && !self.data.is_dir() {
            return Err(PathsError::NotADirectory(self.data.clone()));
        }
        usable(nearest_existing(&self.data))
    }
}

/// `path`, or the nearest directory above it that exists.
pub fn nearest_existing(path: &Path) -> &Path {
    path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"))
}

fn usable(directory: &Path) -> Result<(), PathsError> {
    use rustix::fs::{Access, access};
    let refused = |access| {
        move |source: rustix::io::Errno| PathsError::Access {
            path: directory.to_path_buf(),
            access,
            source: source.into(),
        }
    };
    access(directory, Access::READ_OK | Access::EXEC_OK).map_err(refused("read"))?;
    // Unlike a mode check, this also notices a file system that is mounted read-only.
    access(directory, Access::WRITE_OK | Access::EXEC_OK).map_err(refused("write in"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static str);

    impl BaseStrategy for Fixed {
        fn home_dir(&self) -> &Path {
            Path::new(self.0)
        }
        fn config_dir(&self) -> PathBuf {
            PathBuf::from("/c")
        }
        fn data_dir(&self) -> PathBuf {
            PathBuf::from("/d")
        }
        fn cache_dir(&self) -> PathBuf {
            PathBuf::from("/k")
        }
        fn state_dir(&self) -> Option<PathBuf> {
            None
        }
        fn runtime_dir(&self) -> Option<PathBuf> {
            None
        }
    }

    #[test]
    fn xdg_directories_get_the_name_of_the_program() {
        let paths = Paths::by_xdg(Some(Fixed("/home/ada"))).expect("a home");
        assert_eq!(paths.data(), Path::new("/d/infralab"));
        assert_eq!(paths.cache(), Path::new("/k/infralab"));
        assert_eq!(paths.config(), Path::new("/c/infralab"));
        assert_eq!(paths.runs(), Path::new("/d/infralab/runs"));
    }

    #[test]
    fn no_home_names_the_way_out() {
        for strategy in [None, Some(Fixed("")), Some(Fixed("relative"))] {
            let error = Paths::by_xdg(strategy).expect_err("no home").to_string();
            assert!(error.contains("--data"), "{error}");
            assert!(error.contains("HOME"), "{error}");
        }
    }

    #[test]
    fn a_given_directory_holds_everything_and_is_made_absolute() {
        let paths = Paths::new(Some(Path::new("here"))).expect("a current directory");
        let here = std::env::current_dir().expect("a current directory").join("here");
        assert_eq!(paths.data(), here);
        assert_eq!(paths.cache(), here.join("cache"));
        assert_eq!(paths.engine(), here.join("engine"));
    }

    #[test]
    fn ensure_creates_and_reports_what_is_in_the_way() {
        let dir = tempfile::tempdir().expect("a directory");
        let paths = Paths::new(Some(&dir.path().join("a/b"))).expect("paths");
        paths.check_data().expect("the parent is writable");
        assert!(!paths.data().exists(), "checking must not create");
        paths.ensure(&paths.runs()).expect("created");
        assert!(paths.runs().is_dir());

        let file = dir.path().join("file");
        std::fs::write(&file, "").expect("written");
        let paths = Paths::new(Some(&file)).expect("paths");
        assert!(matches!(paths.check_data(), Err(PathsError::NotADirectory(_))));
        assert!(matches!(paths.ensure(paths.data()), Err(PathsError::NotADirectory(_))));
        let error = paths.ensure(&paths.runs()).expect_err("a file is in the way").to_string();
        assert!(error.contains("--data"), "{error}");
    }
}
