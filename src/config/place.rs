//! Places in a configuration file, and what is wrong there.

/// A place in a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as it was given or found.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in bytes.
    pub column: u32,
}

impl Place {
    /// The place of a byte of a text.
    pub fn of(file: &str, text: &str, offset: usize) -> Place {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        Place {
            file: file.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(before.len() - start + 1).unwrap_or(u32::MAX),
        }
    }
}

/// Something that is wrong in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Where, as a byte of the text.
    pub offset: usize,
    /// Where.
    pub place: Place,
    /// What is wrong; names the nearest right word where one is near.
    pub message: String,
    /// What to do; empty where the message says it.
    pub help: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Place { file, line, column } = &self.place;
        write!(f, "{file}:{line}:{column}: {}", self.message)
    }
}
