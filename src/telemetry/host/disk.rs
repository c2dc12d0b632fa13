//! Bytes that block devices read and write, from `/proc/diskstats`.

use super::kernel_file::{KernelFile, Root};
use super::pace::Moment;
use super::rates::{Moved, Rates};

/// The kernel counts in sectors of this size whatever the device's own are.
const SECTOR_BYTES: u64 = 512;

/// Reads what whole block devices move.
#[derive(Debug)]
pub(super) struct Disks {
    root: Root,
    diskstats: KernelFile,
    /// Names in the file's order, and whether each counts: looked up again only when they change.
    known: Vec<(String, bool)>,
    rates: Rates,
}

impl Disks {
    pub(super) fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            diskstats: root.file("/proc/diskstats"),
            known: Vec::new(),
            rates: Rates::default(),
        }
    }

    /// MiB/s read and written since the call before.
    pub(super) fn mib_s(&mut self, at: Moment) -> Result<[f64; 2], String> {
        let now = self.counters();
        self.rates.mib_s(at, now)
    }

    fn counters(&mut self) -> Result<Vec<Moved>, String> {
        let Self { root, diskstats, known, .. } = self;
        let text = diskstats.text()?;
        let devices: Vec<_> = text.lines().filter_map(parse_device).collect();
        if !devices.iter().map(|device| device.name).eq(known.iter().map(|(name, _)| name.as_str())) {
            if !root.path("/sys/block").is_dir() {
                return Err("/sys/block, which tells disks from partitions, is not there".to_owned());
            }
            let look_up = |device: &Device<'_>| (device.name.to_owned(), is_whole(root, device.name));
            *known = devices.iter().map(look_up).collect();
        }
        let counted = devices.iter().zip(known.iter()).filter(|(_, (_, counts))| *counts);
        let moved: Vec<_> = counted
            .map(|(device, _)| Moved { device: device.name.to_owned(), bytes: device.bytes })
            .collect();
        if moved.is_empty() { Err("no disk is visible from here".to_owned()) } else { Ok(moved) }
    }
}

/// Whether a device is a disk of its own. Partitions have no folder in `/sys/block`; loop, RAM, device-mapper and RAID
/// devices have one, but no `device` behind it, since what they move is moved by another device or by none. The single
/// paths of an NVMe disk that has several are hidden. Network block devices have no `device` and are disks all the same.
fn is_whole(root: &Root, name: &str) -> bool {
    let folder = root.path("/sys/block").join(name.replace('/', "!"));
    let hidden = std::fs::read_to_string(folder.join("hidden")).is_ok_and(|text| text.trim() == "1");
    let is_disk = folder.join("device").exists() || (name.starts_with("nbd") && folder.is_dir());
    is_disk && !hidden
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Device<'a> {
    name: &'a str,
    /// Read and written.
    bytes: [u64; 2],
}

fn parse_device(line: &str) -> Option<Device<'_>> {
    // major minor name reads merged sectors_read ms writes merged sectors_written …
    let mut columns = line.split_whitespace().skip(2);
    let name = columns.next()?;
    let mut bytes_of = |skipped| columns.nth(skipped)?.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES);
    Some(Device { name, bytes: [bytes_of(2)?, bytes_of(3)?] })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sectors_are_512_bytes_in_the_sixth_and_tenth_column() {
        let line = " 259       0 nvme0n1 1000 20 4096 300 500 60 8192 700 0 900 1000 0 0 0 0 12 34";
        assert_eq!(parse_device(line), Some(Device { name: "nvme0n1", bytes: [2 << 20, 4 << 20] }));
        assert_eq!(parse_device(" 259 0 nvme0n1 1000 20 4096 300 500 60"), None);
        assert_eq!(
            parse_device(" 8 0 sda 1 0 18446744073709551615 0 0 0 0 0"),
            None,
            "more than a counter has"
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "( |[0-9]{1,25}|sda|\\PC){0,30}", bytes in any::<Vec<u8>>()) {
            let _ = parse_device(&text);
            let _ = parse_device(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn what_is_written_is_read(name in "[a-z!/]{1,9}[0-9]{0,3}", read in 0..1_u64 << 54, written in 0..1_u64 << 54) {
            let line = format!("   8       0 {name} 5 0 {read} 1 6 0 {written} 2 0 3 4");
            let bytes = [read * 512, written * 512];
            prop_assert_eq!(parse_device(&line), Some(Device { name: &name, bytes }));
        }
    }
}
