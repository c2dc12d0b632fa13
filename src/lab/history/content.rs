//! The bytes of a run's file, plain or compressed by gzip. Which of the two is told by the first bytes, not by the name.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// Most bytes that are read out of a compressed run: 1 GiB. A few kilobytes of gzip can hold terabytes of zeros.
pub const MOST_BYTES: u64 = 1 << 30;

/// First bytes of every gzip stream (RFC 1952): the two of the format and the one of its only method, deflate.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Streams within the end of a file that are tried for the last one.
const MOST_TRIES: usize = 16;

/// The text of a run. A compressed one that was cut off ends at the cut, as a plain one does; where it is damaged
/// reading fails with [`io::ErrorKind::InvalidData`], beyond [`MOST_BYTES`] with [`io::ErrorKind::FileTooLarge`].
pub(super) fn open<'a>(from: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    open_at_most(from, MOST_BYTES)
}

fn open_at_most<'a>(mut from: impl BufRead + 'a, most_bytes: u64) -> io::Result<Box<dyn BufRead + 'a>> {
    if !is_compressed(from.fill_buf()?) {
        return Ok(Box::new(from));
    }
    let decompressed = Decompressed {
        from: MultiGzDecoder::new(from),
        left_bytes: most_bytes,
        most_bytes,
        has_ended: false,
    };
    Ok(Box::new(BufReader::new(decompressed)))
}

/// Whether these first bytes are of a gzip stream.
pub(super) fn is_compressed(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

/// The text of the last gzip stream that begins within the end of a file; `None` where none is whole. A run's closing
/// record is a stream of its own, so that a list of runs need not decompress them.
pub(super) fn last_stream(end: &[u8]) -> Option<String> {
    let starts = (0..end.len()).rev().filter(|at| is_compressed(&end[*at..]));
    starts.take(MOST_TRIES).find_map(|at| {
        let mut text = String::new();
        // What only looks like the start of a stream can decompress to anything, of any length.
        let stream = MultiGzDecoder::new(&end[at..]);
        stream.take(1 << 20).read_to_string(&mut text).ok()?;
        Some(text).filter(|text| !text.is_empty())
    })
}

struct Decompressed<R> {
    from: MultiGzDecoder<R>,
    left_bytes: u64,
    most_bytes: u64,
    has_ended: bool,
}

impl<R: BufRead> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended || buffer.is_empty() {
            return Ok(0);
        }
        // One byte more than is allowed tells whether there is more.
        let most = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).saturating_add(1).min(buffer.len());
        let read = match self.from.read(&mut buffer[..most]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) =>
            {
                let told = format!("the compressed file is damaged here, and the rest is left out: {error}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, told));
            }
            Err(error) => return Err(error),
        };
        self.has_ended = read == 0;
        self.left_bytes = self.left_bytes.checked_sub(read as u64).ok_or_else(|| {
            let most = crate::units::binary_bytes(self.most_bytes as f64);
            let told = format!(
                "it decompresses to more than {most}, the most that is read; `zcat FILE | head -n LINES` makes it shorter"
            );
            io::Error::new(io::ErrorKind::FileTooLarge, told)
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).expect("into memory");
        encoder.finish().expect("into memory")
    }

    fn read(bytes: &[u8], most_bytes: u64) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut text = Vec::new();
        let end = open_at_most(bytes, most_bytes).and_then(|mut from| from.read_to_end(&mut text));
        (text, end.err().map(|e| e.kind()))
    }

    #[test]
    fn plain_and_compressed_text_and_streams_in_a_row_read_the_same() {
        assert_eq!(read(b"a\nb\n", 1), (b"a\nb\n".to_vec(), None), "only what is compressed has a limit");
        assert_eq!(read(&compressed(b"a\nb\n"), 100), (b"a\nb\n".to_vec(), None));
        let two = [compressed(b"a\n"), compressed(b"b\n")].concat();
        assert_eq!(read(&two, 100), (b"a\nb\n".to_vec(), None));
        assert_eq!(last_stream(&two).as_deref(), Some("b\n"));
        assert_eq!(last_stream(&two[..two.len() - 1]), None, "the record is only half there");
        assert_eq!(read(b"", 100), (Vec::new(), None));
    }

    #[test]
    fn too_much_is_told_and_exactly_enough_is_not() {
        let zeros = compressed(&vec![0; 100_000]);
        assert!(zeros.len() < 1000);
        assert_eq!(read(&zeros, 100_000).1, None);
        assert_eq!(read(&zeros, 99_999).1, Some(io::ErrorKind::FileTooLarge));
    }

    #[test]
    fn damage_is_told_and_what_comes_before_it_is_kept() {
        let whole = [compressed(b"good\n"), compressed(b"bad\n")].concat();
        let mut damaged = whole.clone();
        let at = damaged.len() - 8;
        damaged[at] ^= 0xff;
        let (text, error) = read(&damaged, 100);
        assert!(text.starts_with(b"good\n"));
        assert_eq!(error, Some(io::ErrorKind::InvalidData));
    }

    proptest! {
        #[test]
        fn whatever_is_cut_off_reads_up_to_the_cut(
            text in proptest::collection::vec(any::<u8>(), 0..3000),
            cut in 0_usize..4000,
        ) {
            let whole = compressed(&text);
            let cut = cut.min(whole.len());
            let (read, error) = read(&whole[..cut], 1 << 20);
            if cut >= MAGIC.len() {
                prop_assert_eq!(error, None);
                prop_assert!(text.starts_with(&read));
            }
            if cut == whole.len() {
                prop_assert_eq!(read, text);
            }
        }
    }
}
