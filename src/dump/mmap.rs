//! A file in; its bytes, mapped, out. The only unsafe code of the crate.

use memmap2::Mmap;
use std::fs::File;
use std::io;

/// Maps a whole file.
///
/// # Errors
/// What the operating system says.
#[allow(unsafe_code)]
pub fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: a map is sound as long as nobody shortens or rewrites the file while it is read. Dumps
    // are written once by a compiler that is done; no safe interface can rule out more than that, and
    // the bytes are only read through a shared slice.
    unsafe { Mmap::map(file) }
}
