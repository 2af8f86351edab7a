//! The text form of a proto in; its scalar fields with their paths, one after the other, out. Enough
//! for the settings that XLA writes: fields on lines of their own, messages in braces.

use super::scan::{Lines, Read};

/// A scalar field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field<'t> {
    /// The names of the messages around it, outermost first.
    pub path: Vec<&'t str>,
    /// Its name.
    pub name: &'t str,
    /// Its value, a string without its quotes.
    pub value: &'t str,
}

/// Reads all scalar fields.
pub(super) fn fields(text: &str) -> Read<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    read(text, |path, name, value| {
        if let Some(value) = value {
            fields.push(Field { path: path.to_vec(), name, value });
        }
    })?;
    Ok(fields)
}

/// Calls back for every field: with its value for a scalar, without for a message.
pub(super) fn read<'t>(
    text: &'t str,
    mut field: impl FnMut(&[&'t str], &'t str, Option<&'t str>),
) -> Read<()> {
    const DEPTH: usize = 64;
    let mut lines = Lines::new(text);
    let mut path: Vec<&str> = Vec::new();
    while let Some(line) = lines.next() {
        let trimmed = line.rest.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if trimmed == "}" || trimmed == ">" {
            if path.pop().is_none() {
                return line.fail("a field");
            }
            continue;
        }
        if let Some(name) = trimmed.strip_suffix('{').or_else(|| trimmed.strip_suffix('<')) {
            let name = name.trim_end().trim_end_matches(':');
            if path.len() >= DEPTH {
                return line.fail("fewer messages inside one another");
            }
            field(&path, name, None);
            path.push(name);
            continue;
        }
        let Some((name, value)) = trimmed.split_once(':') else { return line.fail("a field") };
        let value = value.trim();
        let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        field(&path, name, Some(inner.unwrap_or(value)));
    }
    match path.is_empty() {
        true => Ok(()),
        false => lines.require("}").map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_messages() {
        let text = "a: 1\nb {\n  c: \"x: y\"\n  d {\n  }\n}\n# note\ne: AUTO\n";
        let fields = fields(text).unwrap();
        let all: Vec<_> =
            fields.iter().map(|field| (field.path.as_slice(), field.name, field.value)).collect();
        assert_eq!(all, [(&[][..], "a", "1"), (&["b"][..], "c", "x: y"), (&[][..], "e", "AUTO")]);
    }

    #[test]
    fn unbalanced_braces_are_errors() {
        assert_eq!(fields("a {\n").unwrap_err().line, 2);
        assert_eq!(fields("a: 1\n}\n").unwrap_err().line, 2);
        assert!(fields(&"a {\n".repeat(100_000)).is_err());
    }
}
