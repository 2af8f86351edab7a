//! Lines of a side file, and the pieces of a line.

use crate::dump::Diagnostic;
use crate::hlo::ShapeIndex;
use std::fmt;

/// Why a side file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideError {
    /// The line, counted from 1.
    pub line: u64,
    /// What should stand there.
    pub expected: &'static str,
    /// What stands there, cut to a few words; empty at the end of the file.
    pub found: String,
}

impl SideError {
    /// The same, with the file and a remedy.
    pub fn in_file(&self, path: &str) -> Diagnostic {
        let remedy = match self.found.is_empty() {
            true => "the file is cut off: dump again",
            false => "a newer compiler may write another form: report it with this line",
        };
        Diagnostic::new(path, self.to_string(), remedy).at_line(self.line)
    }
}

impl fmt::Display for SideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found.is_empty() {
            true => write!(f, "expected {}, found the end", self.expected),
            false => write!(f, "expected {}, found `{}`", self.expected, self.found),
        }
    }
}

impl std::error::Error for SideError {}

/// What every reader gives.
pub(super) type Read<T> = Result<T, SideError>;

/// The lines that are left of a text.
#[derive(Clone)]
pub(super) struct Lines<'t> {
    rest: &'t str,
    line: u64,
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Lines<'t> {
        Lines { rest: text, line: 0 }
    }

    /// What is left.
    pub fn rest(&self) -> &'t str {
        self.rest
    }

    /// The next line without taking it; `None` at the end.
    pub fn peek(&self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len());
        let line = self.rest.get(..end)?;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// Takes the next line.
    pub fn next(&mut self) -> Option<Scan<'t>> {
        let line = self.peek()?;
        let end =
            memchr::memchr(b'\n', self.rest.as_bytes()).map_or(self.rest.len(), |end| end + 1);
        self.rest = self.rest.get(end..)?;
        self.line += 1;
        Some(Scan { rest: line, line: self.line })
    }

    /// Takes the next line if it is a wanted one.
    pub fn next_if(&mut self, wanted: impl FnOnce(&str) -> bool) -> Option<Scan<'t>> {
        self.peek().is_some_and(wanted).then(|| self.next()).flatten()
    }

    /// Takes blank lines.
    pub fn skip_blank(&mut self) {
        while self.next_if(|line| line.trim().is_empty()).is_some() {}
    }

    /// The next line, which must be there.
    pub fn require(&mut self, expected: &'static str) -> Read<Scan<'t>> {
        let line = self.line;
        self.next().ok_or(SideError { line: line + 1, expected, found: String::new() })
    }
}

/// What is left of a line.
#[derive(Clone)]
pub(super) struct Scan<'t> {
    pub rest: &'t str,
    line: u64,
}

impl<'t> Scan<'t> {
    pub fn line(&self) -> u64 {
        self.line
    }

    /// What should stand here.
    pub fn fail<T>(&self, expected: &'static str) -> Read<T> {
        const FOUND_CHARS: usize = 40;
        let found = self.rest.chars().take(FOUND_CHARS).collect();
        Err(SideError { line: self.line, expected, found })
    }

    /// Takes words if they stand here.
    pub fn maybe(&mut self, words: &str) -> bool {
        match self.rest.strip_prefix(words) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes words that must stand here.
    pub fn literal(&mut self, words: &'static str) -> Read<()> {
        if self.maybe(words) { Ok(()) } else { self.fail(words) }
    }

    /// Takes a decimal number.
    pub fn number<N: std::str::FromStr>(&mut self, expected: &'static str) -> Read<N> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(digits);
        let Ok(number) = number.parse() else { return self.fail(expected) };
        self.rest = rest;
        Ok(number)
    }

    /// Takes what stands in front of words, and the words.
    pub fn until(&mut self, words: &'static str) -> Read<&'t str> {
        let Some((before, rest)) = self.rest.split_once(words) else { return self.fail(words) };
        self.rest = rest;
        Ok(before)
    }

    /// Takes the name of an instruction: up to a space, a brace, a comma or a colon.
    pub fn name(&mut self) -> Read<&'t str> {
        let end = self.rest.find([' ', '{', ',', ':']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return self.fail("the name of an instruction");
        }
        self.rest = rest;
        Ok(name)
    }

    /// Takes a shape index in braces: `{}`, `{1,0}`.
    pub fn index(&mut self) -> Read<ShapeIndex> {
        self.literal("{")?;
        let mut index = ShapeIndex::new();
        if self.maybe("}") {
            return Ok(index);
        }
        loop {
            index.push(self.number("a number of a shape index")?);
            if self.maybe("}") {
                return Ok(index);
            }
            self.literal(",")?;
        }
    }

    /// Nothing may be left.
    pub fn end(&self) -> Read<()> {
        if self.rest.trim().is_empty() { Ok(()) } else { self.fail("the end of the line") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_line() {
        let mut lines = Lines::new("a\r\n\n12:x{1,20} rest");
        assert_eq!(lines.next().map(|line| line.rest), Some("a"));
        lines.skip_blank();
        let mut line = lines.require("a line").unwrap();
        assert_eq!(line.line(), 3);
        assert_eq!(line.number("a number"), Ok(12_u64));
        line.literal(":").unwrap();
        assert_eq!(line.name(), Ok("x"));
        assert_eq!(line.index().unwrap().as_slice(), [1, 20]);
        let error = line.literal("{").unwrap_err();
        assert_eq!(error.to_string(), "expected {, found ` rest`");
        let error = lines.require("a line").map(|_| ()).unwrap_err();
        assert_eq!((error.line, error.to_string()), (4, "expected a line, found the end".into()));
    }

    #[test]
    fn numbers_that_do_not_fit_are_errors() {
        let mut lines = Lines::new("99999999999999999999999");
        assert!(lines.require("x").unwrap().number::<u64>("a number").is_err());
        assert!(Lines::new("{4294967296}").require("x").unwrap().index().is_err());
    }
}
