//! A place (file, archive entry, stdin) in; its bytes, owned, out.

use super::Diagnostic;
use flate2::read::MultiGzDecoder;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What one input may cost. Beyond a limit the input is a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of one text, unpacked.
    pub text_bytes: u64,
    /// What is kept of one archive, unpacked.
    pub archive_bytes: u64,
    /// What is read through in one compressed archive, unpacked.
    pub stream_bytes: u64,
    /// Files of one directory tree, entries of one archive.
    pub files: usize,
    /// Depth of a directory tree.
    pub depth: usize,
}

impl Default for Limits {
    /// Spans of a module are 32 bits wide, hence the size of a text.
    fn default() -> Self {
        Limits {
            text_bytes: u64::from(u32::MAX),
            archive_bytes: 8 << 30,
            stream_bytes: 64 << 30,
            files: 1_000_000,
            depth: 64,
        }
    }
}

/// Bytes and the name under which the user knows them.
pub struct Source {
    label: String,
    bytes: Bytes,
}

#[derive(Clone)]
enum Bytes {
    #[cfg(feature = "mmap")]
    Map(Arc<memmap2::Mmap>),
    Owned(Arc<[u8]>),
}

impl Source {
    /// Bytes that are already in memory.
    pub fn from_bytes(label: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Source {
        Source { label: label.into(), bytes: Bytes::Owned(bytes.into()) }
    }

    /// The path as it was given or found; `archive!entry` inside an archive; `<stdin>`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            #[cfg(feature = "mmap")]
            Bytes::Map(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// The bytes as text.
    ///
    /// # Errors
    /// The place of the first byte that is not UTF-8, or that there is nothing.
    pub fn text(&self) -> Result<&str, Diagnostic> {
        let bytes = self.bytes();
        if bytes.is_empty() {
            return Err(Diagnostic::new(
                &self.label,
                "the file is empty",
                "the compiler was stopped before it wrote the text, or the disk is full: dump again",
            ));
        }
        std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or(bytes);
            let line = before.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
            Diagnostic::new(
                &self.label,
                format!("not text: byte {} is not UTF-8", error.valid_up_to()),
                "give the text dump (--xla_dump_hlo_as_text), not a binary file",
            )
            .at_line(line)
        })
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({}, {} bytes)", self.label, self.bytes().len())
    }
}

/// A file that can be read when it is needed.
#[derive(Clone)]
pub struct File {
    label: String,
    origin: Origin,
    gzip: bool,
    text_limit_bytes: u64,
}

#[derive(Clone)]
enum Origin {
    Disk(PathBuf),
    Memory(Arc<[u8]>),
}

impl File {
    /// A file on disk.
    pub(super) fn on_disk(path: PathBuf, gzip: bool, limits: &Limits) -> File {
        let label = path.display().to_string();
        File { label, origin: Origin::Disk(path), gzip, text_limit_bytes: limits.text_bytes }
    }

    /// An entry of an archive, or stdin.
    pub(super) fn in_memory(label: String, bytes: Arc<[u8]>, gzip: bool, limits: &Limits) -> File {
        File { label, origin: Origin::Memory(bytes), gzip, text_limit_bytes: limits.text_bytes }
    }

    /// The path as it was given or found; `archive!entry` inside an archive; `<stdin>`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Reads the file; unpacks it if it is compressed.
    ///
    /// # Errors
    /// What the operating system says, a damaged compression, or a size above the limit.
    pub fn read(&self) -> Result<Source, Diagnostic> {
        let source = self.read_packed()?;
        if !self.gzip && !is_gzip(source.bytes()) {
            return Ok(source);
        }
        let unpacked = gunzip(source.bytes(), self.text_limit_bytes)
            .map_err(|error| Diagnostic::packed(&self.label, &error))?;
        Ok(Source::from_bytes(self.label.clone(), unpacked))
    }

    /// Reads the file as it is.
    pub(super) fn read_packed(&self) -> Result<Source, Diagnostic> {
        let bytes = match &self.origin {
            Origin::Memory(bytes) => Bytes::Owned(Arc::clone(bytes)),
            Origin::Disk(path) => read_file(path, self.text_limit_bytes)
                .map_err(|error| Diagnostic::io(&self.label, &error))?,
        };
        Ok(Source { label: self.label.clone(), bytes })
    }

    /// The first bytes, unpacked: enough to recognise a HLO text and its module's name.
    pub fn head(&self) -> Vec<u8> {
        const HEAD_BYTES: u64 = 512;
        let mut head = Vec::new();
        let reader: Box<dyn Read> = match &self.origin {
            Origin::Memory(bytes) => Box::new(io::Cursor::new(Arc::clone(bytes))),
            Origin::Disk(path) => match std::fs::File::open(path) {
                Ok(file) => Box::new(file),
                Err(_) => return head,
            },
        };
        let mut reader = io::BufReader::new(reader);
        let is_packed = self.gzip || reader.fill_buf().is_ok_and(is_gzip);
        // What cannot be read here fails again, and is reported, when the file is read.
        let _ = match is_packed {
            true => MultiGzDecoder::new(reader).take(HEAD_BYTES).read_to_end(&mut head),
            false => reader.take(HEAD_BYTES).read_to_end(&mut head),
        };
        head
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({})", self.label)
    }
}

/// Whether bytes are compressed with gzip.
pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Unpacks; more than `limit_bytes` is an error.
pub(super) fn gunzip(bytes: &[u8], limit_bytes: u64) -> io::Result<Vec<u8>> {
    read_at_most(MultiGzDecoder::new(bytes), limit_bytes)
}

/// Reads to the end; more than `limit_bytes` is an error.
pub(super) fn read_at_most(reader: impl Read, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = reader.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if count as u64 > limit_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("more than {limit_bytes} bytes unpacked"),
        ));
    }
    Ok(bytes)
}

/// Small files are copied: a process may hold only some ten thousand maps.
#[cfg(feature = "mmap")]
const MAP_FROM_BYTES: u64 = 64 << 10;

fn read_file(path: &Path, limit_bytes: u64) -> io::Result<Bytes> {
    let file = std::fs::File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if metadata.len() > limit_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("{} bytes, more than {limit_bytes}", metadata.len()),
        ));
    }
    #[cfg(feature = "mmap")]
    if metadata.len() >= MAP_FROM_BYTES
        && let Ok(map) = super::mmap::map(&file)
    {
        return Ok(Bytes::Map(Arc::new(map)));
    }
    Ok(Bytes::Owned(read_at_most(file, limit_bytes)?.into()))
}
