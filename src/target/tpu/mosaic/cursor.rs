//! Bytes of MLIR bytecode in; numbers and slices out, every read checked against the end.

use super::Unknown;

/// A place in bytecode, with the end of what may be read.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
    end: usize,
}

impl<'b> Cursor<'b> {
    /// All of `bytes`.
    pub fn new(bytes: &'b [u8]) -> Self {
        Cursor { bytes, at: 0, end: bytes.len() }
    }

    /// The offset in the file.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8, Unknown> {
        let byte =
            *self.bytes.get(self.at).filter(|_| self.at < self.end).ok_or_else(|| self.short())?;
        self.at += 1;
        Ok(byte)
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'b [u8], Unknown> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.end);
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or_else(|| self.short())?;
        self.at += count;
        Ok(taken)
    }

    /// The next `count` bytes as a cursor of their own.
    pub fn within(&mut self, count: usize) -> Result<Cursor<'b>, Unknown> {
        let at = self.at;
        self.take(count)?;
        Ok(Cursor { bytes: self.bytes, at, end: self.at })
    }

    /// A number of one to nine bytes: the zero bits below the lowest set bit of the first byte count
    /// the bytes that follow (MLIR, `EncodingReader::parseVarInt`).
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Unknown> {
        let first = self.byte()?;
        if first & 1 == 1 {
            return Ok(u64::from(first >> 1));
        }
        if first == 0 {
            return Ok(little_endian(self.take(8)?));
        }
        let more = first.trailing_zeros() as usize;
        let high = little_endian(self.take(more)?);
        Ok(((high << 8) | u64::from(first)) >> (more + 1))
    }

    /// A number with its sign in the lowest bit.
    pub fn signed(&mut self) -> Result<i64, Unknown> {
        let value = self.varint()?;
        Ok(((value >> 1) as i64) ^ -((value & 1) as i64))
    }

    /// A number with a flag in the lowest bit.
    pub fn flagged(&mut self) -> Result<(u64, bool), Unknown> {
        let value = self.varint()?;
        Ok((value >> 1, value & 1 == 1))
    }

    /// A number that fits 32 bits: an index of a table.
    pub fn index(&mut self) -> Result<u32, Unknown> {
        let value = self.varint()?;
        u32::try_from(value).map_err(|_| self.malformed("an index is too large"))
    }

    /// How many things follow, each of at least one byte.
    pub fn count(&mut self) -> Result<usize, Unknown> {
        let count = self.varint()?;
        self.at_most_left(count)
    }

    /// `count` as a number of things of at least one byte each.
    pub fn at_most_left(&self, count: u64) -> Result<usize, Unknown> {
        usize::try_from(count)
            .ok()
            .filter(|&count| count <= self.left())
            .ok_or_else(|| self.malformed("a count exceeds the bytes left"))
    }

    /// Bytes up to a NUL, which is read over.
    pub fn until_nul(&mut self) -> Result<&'b [u8], Unknown> {
        let rest = self.bytes.get(self.at..self.end).unwrap_or(&[]);
        let length = memchr::memchr(0, rest).ok_or_else(|| self.short())?;
        let text = self.take(length)?;
        self.at += 1;
        Ok(text)
    }

    /// An error at this place.
    pub fn malformed(&self, what: &'static str) -> Unknown {
        Unknown::Malformed { what, offset: self.at }
    }

    fn short(&self) -> Unknown {
        self.malformed("the bytecode ends early")
    }
}

/// Up to eight bytes as a number, the lowest first.
pub fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| (value << 8) | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (bytes, value) in [
            (&[0x01][..], 0),
            (&[0x03], 1),
            (&[0x05], 2),
            (&[0xf6, 0x05], 381),
            (&[0, 1, 0, 0, 0, 0, 0, 0, 0x80], 0x8000_0000_0000_0001),
        ] {
            let mut cursor = Cursor::new(bytes);
            assert_eq!(cursor.varint().unwrap(), value);
            assert!(cursor.is_empty());
        }
        assert!(Cursor::new(&[0xf6]).varint().is_err());
        assert!(Cursor::new(&[]).byte().is_err());
    }

    #[test]
    fn signs_and_flags() {
        assert_eq!(Cursor::new(&[0x07]).signed().unwrap(), -2);
        assert_eq!(Cursor::new(&[0x09]).signed().unwrap(), 2);
        assert_eq!(Cursor::new(&[0x07]).flagged().unwrap(), (1, true));
    }
}
