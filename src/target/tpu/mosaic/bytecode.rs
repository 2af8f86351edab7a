//! MLIR bytecode in; its tables out: strings, operation names, attributes and types by number.
//!
//! Attributes and types stay bytes until somebody asks (MLIR, `BytecodeReader.cpp`; facts:
//! mosaic-vmem section 2). Reading one costs its own size at most, and lists of more than
//! [`LIST_LIMIT`] entries count as unknown, so that no table entry can be made expensive by many
//! references to it.

use super::Unknown;
use super::cursor::{Cursor, little_endian};
use super::operation::Kind;
use smallvec::SmallVec;

/// The newest version of the format that is read.
const NEWEST_VERSION: u64 = 6;

/// Entries of an array, a dictionary or a shape beyond which it counts as unknown.
const LIST_LIMIT: usize = 1024;

/// The most bytes of a kernel body.
const BODY_LIMIT_BYTES: usize = 64 << 20;

const STRINGS: u8 = 0;
const DIALECTS: u8 = 1;
const ENTRIES: u8 = 2;
const OFFSETS: u8 = 3;
const IR: u8 = 4;
const SECTIONS: usize = 9;

/// An attribute, one level deep: others stand in it by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute<'b> {
    /// An array of attributes.
    Array(SmallVec<[u32; 8]>),
    /// Names (attributes, strings) and values.
    Dictionary(SmallVec<[(u32, u32); 8]>),
    /// A string.
    String(&'b str),
    /// A reference to a symbol: the attribute that holds its name.
    Symbol(u32),
    /// A type.
    Type(u32),
    /// An integer of at most 64 bits.
    Integer(i64),
    /// A dense array of integers of 32 or 64 bits.
    Integers(SmallVec<[i64; 8]>),
    /// An attribute that the bytecode holds as text.
    Text(&'b str),
    /// Anything else.
    Unknown,
}

/// Dimensions of a memref or a vector; [`DYNAMIC`] where unknown.
pub type Dimensions = SmallVec<[i64; 4]>;

/// The size of a dimension or bound that is not static.
pub const DYNAMIC: i64 = i64::MIN;

/// A type, one level deep.
#[derive(Clone, Debug, PartialEq)]
pub enum Type<'b> {
    /// An integer.
    Integer {
        /// Bits.
        width: u64,
    },
    /// `index`.
    Index,
    /// A floating-point number.
    Float {
        /// Bits.
        bits: u64,
    },
    /// A reference to memory.
    MemRef {
        /// The sizes.
        dimensions: Dimensions,
        /// The type of its elements.
        element: u32,
        /// The attribute of its memory space.
        space: Option<u32>,
    },
    /// A vector.
    Vector {
        /// The sizes.
        dimensions: Dimensions,
        /// The type of its elements.
        element: u32,
    },
    /// A type that the bytecode holds as text.
    Text(&'b str),
    /// Anything else.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Entry<'b> {
    bytes: Cursor<'b>,
    /// Whether the entry has the binary form of the builtin dialect.
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Builtin,
    Opaque,
}

/// The tables of a bytecode file.
#[derive(Debug)]
pub struct Bytecode<'b> {
    /// The version of the format.
    pub version: u64,
    /// What each operation name means.
    pub names: Vec<Kind>,
    /// The operations, unread.
    pub ir: Cursor<'b>,
    attributes: Vec<Entry<'b>>,
    types: Vec<Entry<'b>>,
    strings: Vec<&'b str>,
}

/// Reads the tables.
///
/// # Errors
/// What is not bytecode, or of a newer version, or malformed.
pub fn read(bytes: &[u8]) -> Result<Bytecode<'_>, Unknown> {
    if bytes.len() > BODY_LIMIT_BYTES {
        return Err(Unknown::TooLarge { what: "the kernel's body" });
    }
    let mut cursor = Cursor::new(bytes);
    if cursor.take(4).ok() != Some(b"ML\xefR") {
        let is_text = bytes.starts_with(b"module") || bytes.starts_with(b"#");
        return Err(if is_text { Unknown::Text } else { Unknown::NotBytecode });
    }
    let version = cursor.varint()?;
    if version > NEWEST_VERSION {
        return Err(Unknown::Version { version });
    }
    cursor.until_nul()?;
    let sections = sections(&mut cursor)?;
    let section = |id: u8| {
        sections[usize::from(id)]
            .ok_or(Unknown::Malformed { what: "a section is missing", offset: 0 })
    };
    let strings = strings(section(STRINGS)?)?;
    let (dialects, names) = names(section(DIALECTS)?, version, &strings)?;
    let (attributes, types) = entries(section(OFFSETS)?, section(ENTRIES)?, &dialects)?;
    Ok(Bytecode { version, names, ir: section(IR)?, attributes, types, strings })
}

fn sections<'b>(cursor: &mut Cursor<'b>) -> Result<[Option<Cursor<'b>>; SECTIONS], Unknown> {
    let mut sections = [None; SECTIONS];
    while !cursor.is_empty() {
        let (id, section) = section(cursor)?;
        let place = sections
            .get_mut(usize::from(id))
            .ok_or_else(|| cursor.malformed("a section of an unknown kind"))?;
        *place = Some(section);
    }
    Ok(sections)
}

/// One section: its kind and what it holds.
pub fn section<'b>(cursor: &mut Cursor<'b>) -> Result<(u8, Cursor<'b>), Unknown> {
    let id = cursor.byte()?;
    let length = cursor.count()?;
    if id & 0x80 != 0 {
        let alignment = cursor.count()?.max(1);
        while !cursor.at().is_multiple_of(alignment) {
            cursor.byte()?;
        }
    }
    Ok((id & 0x7f, cursor.within(length)?))
}

fn strings(mut cursor: Cursor<'_>) -> Result<Vec<&str>, Unknown> {
    let count = cursor.count()?;
    let mut lengths = Vec::with_capacity(count);
    for _ in 0..count {
        lengths.push(cursor.count()?);
    }
    // The lengths stand in reverse order; each counts a NUL.
    let mut strings = Vec::with_capacity(count);
    for length in lengths.into_iter().rev() {
        let bytes = cursor.take(length)?;
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        strings.push(std::str::from_utf8(bytes).unwrap_or(""));
    }
    Ok(strings)
}

/// The names of the dialects, and what each operation name means.
fn names<'b>(
    mut cursor: Cursor<'b>,
    version: u64,
    strings: &[&'b str],
) -> Result<(Vec<&'b str>, Vec<Kind>), Unknown> {
    let string = |number: u64, cursor: &Cursor<'b>| {
        let found = usize::try_from(number).ok().and_then(|at| strings.get(at)).copied();
        found.ok_or_else(|| cursor.malformed("a string that does not exist"))
    };
    let count = cursor.count()?;
    let mut dialects = Vec::with_capacity(count);
    for _ in 0..count {
        let (number, versioned) =
            if version == 0 { (cursor.varint()?, false) } else { cursor.flagged()? };
        dialects.push(string(number, &cursor)?);
        if versioned {
            section(&mut cursor)?;
        }
    }
    if version >= 4 && !cursor.is_empty() {
        cursor.varint()?;
    }
    let mut names = Vec::new();
    while !cursor.is_empty() {
        cursor.varint()?;
        for _ in 0..cursor.count()? {
            let number = if version < 5 { cursor.varint()? } else { cursor.flagged()?.0 };
            names.push(Kind::from_name(string(number, &cursor)?));
        }
    }
    Ok((dialects, names))
}

type Entries<'b> = Vec<Entry<'b>>;

fn entries<'b>(
    mut offsets: Cursor<'b>,
    mut data: Cursor<'b>,
    dialects: &[&'b str],
) -> Result<(Entries<'b>, Entries<'b>), Unknown> {
    let attributes = offsets.count()?;
    let types = offsets.count()?;
    let mut read = |count: usize| {
        let mut entries = Vec::with_capacity(count);
        while entries.len() < count {
            let dialect = offsets.index()?;
            let is_builtin = dialects.get(dialect as usize) == Some(&"builtin");
            let group = offsets.count()?;
            if group > count - entries.len() || group == 0 {
                return Err(offsets.malformed("a group of entries has a wrong size"));
            }
            for _ in 0..group {
                let (size, is_custom) = offsets.flagged()?;
                let form = match (is_custom, is_builtin) {
                    (false, _) => Form::Text,
                    (true, true) => Form::Builtin,
                    (true, false) => Form::Opaque,
                };
                entries.push(Entry { bytes: data.within(data.at_most_left(size)?)?, form });
            }
        }
        Ok(entries)
    };
    Ok((read(attributes)?, read(types)?))
}

fn text(mut cursor: Cursor<'_>) -> Result<&str, Unknown> {
    Ok(std::str::from_utf8(cursor.until_nul()?).unwrap_or(""))
}

impl<'b> Bytecode<'b> {
    /// An attribute; unknown where it does not exist or cannot be read.
    pub fn attribute(&self, number: u32) -> Attribute<'b> {
        let Some(entry) = self.attributes.get(number as usize) else { return Attribute::Unknown };
        let read = match entry.form {
            Form::Text => text(entry.bytes).map(Attribute::Text),
            Form::Builtin => self.builtin_attribute(entry.bytes),
            Form::Opaque => Ok(Attribute::Unknown),
        };
        read.unwrap_or(Attribute::Unknown)
    }

    /// A type; unknown where it does not exist or cannot be read.
    pub fn type_of(&self, number: u32) -> Type<'b> {
        let Some(entry) = self.types.get(number as usize) else { return Type::Unknown };
        let read = match entry.form {
            Form::Text => text(entry.bytes).map(Type::Text),
            Form::Builtin => builtin_type(entry.bytes),
            Form::Opaque => Ok(Type::Unknown),
        };
        read.unwrap_or(Type::Unknown)
    }

    fn string(&self, number: u32) -> Attribute<'b> {
        self.strings.get(number as usize).map_or(Attribute::Unknown, |text| Attribute::String(text))
    }

    fn builtin_attribute(&self, mut cursor: Cursor<'b>) -> Result<Attribute<'b>, Unknown> {
        Ok(match cursor.varint()? {
            0 => Attribute::Array(list(&mut cursor, Cursor::index)?),
            1 => Attribute::Dictionary(list(&mut cursor, |c| Ok((c.index()?, c.index()?)))?),
            2 | 3 => self.string(cursor.index()?),
            4 => Attribute::Symbol(cursor.index()?),
            6 => Attribute::Type(cursor.index()?),
            8 => {
                let width = match self.type_of(cursor.index()?) {
                    Type::Integer { width } => width,
                    Type::Index => 64,
                    _ => return Ok(Attribute::Unknown),
                };
                match width {
                    0..=8 => Attribute::Integer(i64::from(cursor.byte()?)),
                    9..=64 => Attribute::Integer(cursor.signed()?),
                    _ => Attribute::Unknown,
                }
            }
            17 => {
                let Type::Integer { width: width @ (32 | 64) } = self.type_of(cursor.index()?)
                else {
                    return Ok(Attribute::Unknown);
                };
                let count = cursor.count()?;
                let length = cursor.count()?;
                let width_bytes = width as usize / 8;
                if count > LIST_LIMIT || Some(length) != count.checked_mul(width_bytes) {
                    return Ok(Attribute::Unknown);
                }
                let integer = |bytes: &[u8]| match width {
                    32 => i64::from(little_endian(bytes) as u32 as i32),
                    _ => little_endian(bytes) as i64,
                };
                let raw = cursor.take(length)?;
                Attribute::Integers(raw.chunks_exact(width_bytes).map(integer).collect())
            }
            _ => Attribute::Unknown,
        })
    }

    /// The text of a string, symbol or text attribute.
    pub fn str_of(&self, number: u32) -> Option<&'b str> {
        match self.attribute(number) {
            Attribute::String(text) | Attribute::Text(text) => Some(text),
            Attribute::Symbol(name) => match self.attribute(name) {
                Attribute::String(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value of a dictionary's entry.
    pub fn entry(&self, dictionary: Option<u32>, name: &str) -> Option<u32> {
        let Attribute::Dictionary(entries) = self.attribute(dictionary?) else { return None };
        entries.iter().find(|(key, _)| self.str_of(*key) == Some(name)).map(|&(_, value)| value)
    }

    /// The integer of a dictionary's entry.
    pub fn integer(&self, dictionary: Option<u32>, name: &str) -> Option<i64> {
        match self.attribute(self.entry(dictionary, name)?) {
            Attribute::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// Bits of an element of this type; `None` where it is unknown.
    pub fn element_bits(&self, number: u32) -> Option<u64> {
        match self.type_of(number) {
            Type::Integer { width } if width <= 64 => Some(width),
            Type::Float { bits } => Some(bits),
            Type::Index => Some(32),
            Type::Text(text) => {
                let text = text.trim_start_matches('!');
                (text.starts_with("f8") || text.starts_with("tpu.float8")).then_some(8)
            }
            _ => None,
        }
    }
}

fn list<'b, T, const N: usize>(
    cursor: &mut Cursor<'b>,
    mut item: impl FnMut(&mut Cursor<'b>) -> Result<T, Unknown>,
) -> Result<SmallVec<[T; N]>, Unknown>
where
    [T; N]: smallvec::Array<Item = T>,
{
    let count = cursor.count()?;
    if count > LIST_LIMIT {
        return Err(Unknown::TooLarge { what: "a list of attributes" });
    }
    (0..count).map(|_| item(cursor)).collect()
}

fn builtin_type<'b>(mut cursor: Cursor<'b>) -> Result<Type<'b>, Unknown> {
    Ok(match cursor.varint()? {
        0 => Type::Integer { width: cursor.varint()? >> 2 },
        1 => Type::Index,
        3 | 4 => Type::Float { bits: 16 },
        5 => Type::Float { bits: 32 },
        6 => Type::Float { bits: 64 },
        10 => Type::MemRef {
            dimensions: list(&mut cursor, Cursor::signed)?,
            element: cursor.index()?,
            space: None,
        },
        11 => {
            let space = Some(cursor.index()?);
            let dimensions = list(&mut cursor, Cursor::signed)?;
            Type::MemRef { dimensions, element: cursor.index()?, space }
        }
        19 => Type::Vector {
            dimensions: list(&mut cursor, Cursor::signed)?,
            element: cursor.index()?,
        },
        22..=28 | 32 => Type::Float { bits: 8 },
        29 => Type::Float { bits: 4 },
        30 | 31 => Type::Float { bits: 6 },
        _ => Type::Unknown,
    })
}
