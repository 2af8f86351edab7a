//! `tpu_comp_env.txt` in; the flags of the TPU compiler out. Which flags exist tells the release.

use super::scan::Read;
use super::text_proto;
use rustc_hash::FxHashMap;

/// The flags of one compile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TpuCompEnv<'t> {
    /// Scalar flags, and the fields of flags that are messages, under the flag's name.
    flags: FxHashMap<&'t str, &'t str>,
}

impl<'t> TpuCompEnv<'t> {
    /// Whether the compiler knows a flag.
    pub fn has(&self, name: &str) -> bool {
        self.flags.contains_key(name)
    }

    /// The value of a flag: of a message its last scalar field, empty without one.
    pub fn value(&self, name: &str) -> Option<&'t str> {
        self.flags.get(name).copied()
    }

    /// How many flags there are.
    pub fn len(&self) -> usize {
        self.flags.len()
    }

    /// Whether there is no flag.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }
}

/// Reads `tpu_comp_env.txt`.
///
/// # Errors
/// The first line that is not a field.
pub fn parse(text: &str) -> Read<TpuCompEnv<'_>> {
    let mut read = TpuCompEnv::default();
    text_proto::read(text, |path, name, value| match (path.first(), value) {
        (None, value) => {
            read.flags.insert(name, value.unwrap_or(""));
        }
        (Some(flag), Some(value)) => {
            read.flags.insert(flag, value);
        }
        (Some(_), None) => {}
    })?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_all_forms() {
        let read = parse("a: AUTO\nb {\n}\nc {\n  spec: \"true\"\n}\nd: \"\"\n").unwrap();
        assert_eq!(read.len(), 4);
        assert_eq!(read.value("a"), Some("AUTO"));
        assert_eq!(read.value("b"), Some(""));
        assert_eq!(read.value("c"), Some("true"));
        assert!(read.has("d") && !read.has("spec"));
    }
}
