//! The bytes of a `tar` or `zip` archive in; its entries that matter, unpacked, out.
//!
//! Nothing is written to disk. Sizes are limited, since a few megabytes can unpack to petabytes.

use super::Diagnostic;
use super::name::{Content, FileName};
use super::source::{Limits, is_gzip, read_at_most};
use flate2::read::MultiGzDecoder;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

/// How bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// One file, gzip.
    Gzip,
    /// An archive.
    Tar,
    /// An archive, compressed as a whole.
    TarGzip,
    /// An archive.
    Zip,
    /// Known and not supported.
    Unsupported(&'static str),
}

/// An entry of an archive.
pub struct Entry {
    /// Its path inside the archive, with `/`.
    pub path: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// Tells how bytes are packed: by their first bytes, an old `tar` by its name.
pub fn packing(name: &str, bytes: &[u8]) -> Packing {
    let is_tar = |head: &[u8]| head.get(257..262) == Some(b"ustar");
    let named_tar = name.to_ascii_lowercase().ends_with(".tar");
    match bytes {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Packing::Zip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Unsupported("zstd"),
        [b'B', b'Z', b'h', ..] => Packing::Unsupported("bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Packing::Unsupported("xz"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Packing::Unsupported("7z"),
        _ if is_gzip(bytes) => {
            let mut head = Vec::new();
            // A damaged stream shows again, and is reported, when it is read.
            let _ = MultiGzDecoder::new(bytes).take(512).read_to_end(&mut head);
            match is_tar(&head) {
                true => Packing::TarGzip,
                false => Packing::Gzip,
            }
        }
        _ if is_tar(bytes) || named_tar => Packing::Tar,
        _ => Packing::Plain,
    }
}

/// Unpacks the entries that matter. What cannot be read is a diagnostic; what was read before it is
/// kept.
pub fn entries(
    label: &str,
    bytes: &[u8],
    packing: Packing,
    limits: &Limits,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let result = match packing {
        Packing::Zip => unzip(label, bytes, limits, &mut entries, diagnostics),
        Packing::TarGzip => untar(
            label,
            Counted { reader: MultiGzDecoder::new(bytes), left_bytes: limits.stream_bytes },
            limits,
            &mut entries,
            diagnostics,
        ),
        Packing::Tar => untar(label, bytes, limits, &mut entries, diagnostics),
        Packing::Plain | Packing::Gzip | Packing::Unsupported(_) => Ok(()),
    };
    if let Err(error) = result {
        diagnostics.push(Diagnostic::packed(label, &error));
    }
    entries
}

/// Whether an entry is worth unpacking.
fn matters(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(FileName::parse(name).content, Content::Text(_) | Content::Side(_) | Content::Unknown)
}

/// What may still be kept of an archive.
struct Budget<'l> {
    limits: &'l Limits,
    left_bytes: u64,
    entries: usize,
}

impl<'l> Budget<'l> {
    fn new(limits: &'l Limits) -> Budget<'l> {
        Budget { limits, left_bytes: limits.archive_bytes, entries: 0 }
    }

    /// Counts an entry.
    fn count(&mut self) -> io::Result<()> {
        self.entries += 1;
        if self.entries > self.limits.files {
            let message = format!("more than {} entries", self.limits.files);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(())
    }

    /// Reads an entry that is kept.
    fn read(&mut self, reader: impl Read) -> io::Result<Arc<[u8]>> {
        let bytes = read_at_most(reader, self.limits.text_bytes.min(self.left_bytes))?;
        self.left_bytes = self.left_bytes.saturating_sub(bytes.len() as u64);
        Ok(bytes.into())
    }
}

fn untar(
    label: &str,
    reader: impl Read,
    limits: &Limits,
    entries: &mut Vec<Entry>,
    diagnostics: &mut Vec<Diagnostic>,
) -> io::Result<()> {
    let mut budget = Budget::new(limits);
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries()? {
        let entry = entry?;
        budget.count()?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !entry.header().entry_type().is_file() || !matters(&path) {
            continue;
        }
        let size = entry.size();
        let bytes = match budget.read(entry) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                diagnostics.push(Diagnostic::packed(&format!("{label}!{path}"), &error));
                continue;
            }
            Err(error) => return Err(error),
        };
        if (bytes.len() as u64) < size {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive is cut off"));
        }
        entries.push(Entry { path, bytes });
    }
    Ok(())
}

fn unzip(
    label: &str,
    bytes: &[u8],
    limits: &Limits,
    entries: &mut Vec<Entry>,
    diagnostics: &mut Vec<Diagnostic>,
) -> io::Result<()> {
    let mut budget = Budget::new(limits);
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(io::Error::other)?;
    for at in 0..archive.len() {
        budget.count()?;
        let Some(Ok(path)) = archive.name_for_index(at) else { continue };
        let path = path.replace('\\', "/");
        if path.ends_with('/') || !matters(&path) {
            continue;
        }
        let read = match archive.by_index(at) {
            Ok(entry) => budget.read(entry),
            Err(error) => Err(io::Error::other(error)),
        };
        match read {
            Ok(bytes) => entries.push(Entry { path, bytes }),
            Err(error) => diagnostics.push(Diagnostic::packed(&format!("{label}!{path}"), &error)),
        }
    }
    Ok(())
}

/// A reader that fails when too much was read through it.
struct Counted<R> {
    reader: R,
    left_bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        match self.left_bytes.checked_sub(count as u64) {
            Some(left) => self.left_bytes = left,
            None => {
                let message = "the archive unpacks to more than is reasonable";
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
            }
        }
        Ok(count)
    }
}
