//! A program in a pseudo-terminal, with a screen to look at. Waits for text, never for time.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program and its screen.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Every byte that the program wrote.
    pub bytes: Vec<u8>,
}

impl Terminal {
    /// Starts `program` in a terminal of `columns` × `rows`; `None` for a size that the terminal does not tell.
    pub(crate) fn start(
        program: &str,
        args: &[&str],
        size: Option<(u16, u16)>,
        env: &[(&str, &str)],
    ) -> Self {
        let (columns, rows) = size.unwrap_or((0, 0));
        let pty = native_pty_system()
            .openpty(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 })
            .expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.env("TERM", "xterm-256color");
        for name in ["NO_COLOR", "LC_ALL", "LC_MESSAGES", "INFRALAB_THEME", "INFRALAB_WORKER", "COLORFGBG"] {
            command.env_remove(name);
        }
        command.env("LANG", "C.UTF-8");
        for (name, value) in env {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).expect("the program starts");
        drop(pty.slave);
        let mut reader = pty.master.try_clone_reader().expect("a reader");
        let writer = pty.master.take_writer().expect("a writer");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let (columns, rows) = size.unwrap_or((80, 24));
        let parser =
            vt100::Parser::new(rows.try_into().expect("rows"), columns.try_into().expect("columns"), 0);
        Self { child, master: pty.master, writer, output, parser, bytes: Vec::new() }
    }

    /// Sends keys as a terminal would.
    pub(crate) fn send(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).and_then(|()| self.writer.flush()).expect("the program reads");
    }

    /// Waits until the screen satisfies `wanted`.
    pub(crate) fn wait_until(&mut self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !wanted(self.parser.screen()) {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => panic!("{what}: {error}; the screen:\n{}", self.text()),
            }
        }
    }

    /// Waits until the screen holds `text`.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(&format!("waiting for `{text}`"), |screen| screen.contents().contains(text));
    }

    /// Reads until the program has been quiet for a moment: for pictures, which must not show half a frame.
    #[allow(dead_code, reason = "only the pictures need it")]
    pub(crate) fn settle(&mut self) {
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(300)) {
            self.take(&bytes);
        }
    }

    /// What is on the screen.
    pub(crate) fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// The screen, cell by cell.
    #[allow(dead_code)]
    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("resize");
        self.parser
            .screen_mut()
            .set_size(rows.try_into().expect("rows"), columns.try_into().expect("columns"));
    }

    /// Process id of the program.
    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().expect("a process")
    }

    /// Waits for the end of the program, reading what it still writes.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.output.recv_timeout(Duration::from_millis(20)) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if let Some(status) = self.child.try_wait().expect("wait") {
                while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(100)) {
                    self.take(&bytes);
                }
                return status;
            }
            assert!(Instant::now() < end, "the program does not end; the screen:\n{}", self.text());
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.parser.process(bytes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
