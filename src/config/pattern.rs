//! Patterns of names: `*` stands for any characters, `?` for one, all else for itself, so that a name
//! with brackets (`state['m']`) can be pasted from a report.

use globset::{GlobBuilder, GlobMatcher};

/// A pattern of names.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    /// The pattern that a text writes.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let mut glob = String::with_capacity(text.len());
        for character in text.chars() {
            match character {
                // Two stars mean more to a glob.
                '*' if glob.ends_with('*') => {}
                '[' | ']' | '{' | '}' | '\\' => glob.extend(['\\', character]),
                _ => glob.push(character),
            }
        }
        let glob = GlobBuilder::new(&glob).backslash_escape(true).build();
        let glob = glob.map_err(|error| format!("'{text}' is no pattern: {}", error.kind()))?;
        Ok(Pattern { text: text.to_owned(), matcher: glob.compile_matcher() })
    }

    /// Whether a name is of this pattern.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn names() {
        let cases = [
            ("jit_train*", "jit_train_step", true),
            ("jit_train*", "jit_eval", false),
            ("*", "", true),
            ("jit(f)/*/add", "jit(f)/while/body/add", true),
            ("jit(f)/**/add", "jit(f)/while/body/add", true),
            ("state['m']['w']", "state['m']['w']", true),
            ("state['m']*", "state['m']['w']", true),
            ("state['m']", "state'", false),
            ("{a,b}", "a", false),
            ("a?c", "abc", true),
            ("a", "A", false),
            ("", "", true),
            ("", "a", false),
            ("a\\", "a\\", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(Pattern::new(pattern).unwrap().matches(name), expected, "{pattern} {name}");
        }
    }
}
