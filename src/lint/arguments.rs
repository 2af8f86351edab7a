//! The program's arguments by the names the user gave them: `state['params']['w1']`.

use crate::hlo::{InstructionId, Module};

/// An entry parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The parameter number.
    pub number: i64,
    /// The instruction in the analysed module.
    pub instruction: InstructionId,
    /// The path in the argument tree, `state['params']['w1']`; the instruction's name without its
    /// number where the dump does not tell.
    pub path: String,
}

impl Argument {
    /// The part of the path that the user would write a sharding for: the name and its first key
    /// (`state['params']`), or the whole path where it is not nested.
    pub fn group(&self) -> &str {
        group(&self.path)
    }

    /// Whether its name says that it holds the model's parameters, and not the optimizer's copies of
    /// their structure.
    pub fn is_parameters(&self) -> bool {
        names_parameters(self.group())
    }
}

/// Whether the last key of a group's name, or the argument's own, is one that people give to a
/// model's parameters: `state['params']`, `params['layer_0']`.
pub fn names_parameters(group: &str) -> bool {
    let argument = &group[..group.find(['[', '.']).unwrap_or(group.len())];
    [last_key(group), argument].iter().any(|name| {
        let name = name.to_ascii_lowercase();
        ["param", "weight", "variable"].iter().any(|word| name.contains(word))
    })
}

/// The key of `state['m']`: `m`.
pub fn last_key(name: &str) -> &str {
    let start = name.rfind(['[', '.']).map_or(0, |at| at + 1);
    name[start..].trim_end_matches(']').trim_matches('\'')
}

/// The name and first key of an argument path. Keys are `['a']`, `[0]` or `.a`.
pub fn group(path: &str) -> &str {
    let bytes = path.as_bytes();
    let end_of_key = |start: usize| match bytes.get(start) {
        Some(b'[') => path[start..].find(']').map(|at| start + at + 1),
        Some(b'.') => {
            Some(path[start + 1..].find(['[', '.']).map_or(path.len(), |at| start + 1 + at))
        }
        _ => None,
    };
    path.find(['[', '.']).and_then(end_of_key).map_or(path, |end| &path[..end])
}

/// All entry parameters in the order of their numbers. Names come from the analysed module's own
/// metadata, else from `before`, the module as it was handed in.
pub fn arguments(module: &Module<'_>, before: Option<&Module<'_>>) -> Vec<Argument> {
    let handed_in = before.map(|before| (before, before.parameters(before.entry)));
    let name_before = |position: usize| {
        let (before, parameters) = handed_in.as_ref()?;
        op_name(before, *parameters.get(position)?)
    };
    module
        .parameters(module.entry)
        .into_iter()
        .enumerate()
        .map(|(position, instruction)| Argument {
            number: module.parameter_number(instruction).unwrap_or(position as i64),
            instruction,
            path: op_name(module, instruction)
                .or_else(|| name_before(position))
                .unwrap_or_else(|| without_number(module.instruction(instruction).name).to_owned()),
        })
        .collect()
}

/// `x.1` → `x`.
fn without_number(name: &str) -> &str {
    let number = name.rsplit_once('.').filter(|(_, end)| end.bytes().all(|b| b.is_ascii_digit()));
    number.map_or(name, |(stem, _)| stem)
}

fn op_name(module: &Module<'_>, instruction: InstructionId) -> Option<String> {
    let name = module.metadata(instruction)?.op_name;
    (!name.is_empty()).then(|| unescape(name))
}

/// A string of HLO text without its escapes (`\'` and the like; others stay as they are).
pub fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some(&next @ ('\'' | '"' | '\\'))) => {
                plain.push(next);
                characters.next();
            }
            // What a terminal would obey instead of showing.
            _ if is_obeyed(character) => plain.push(char::REPLACEMENT_CHARACTER),
            _ => plain.push(character),
        }
    }
    plain
}

/// Whether a character moves the cursor, rings or turns the direction of the text round.
fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{group, unescape};

    #[test]
    fn groups() {
        let cases = [
            ("state['params']['layers']['w1']", "state['params']"),
            ("state['step']", "state['step']"),
            ("opt_state[0].mu['w']", "opt_state[0]"),
            ("state.params['w']", "state.params"),
            ("tok", "tok"),
            ("broken[", "broken["),
            ("a.", "a."),
            ("", ""),
        ];
        for (path, expected) in cases {
            assert_eq!(group(path), expected, "{path}");
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(r"state[\'m\'][\'emb\']"), "state['m']['emb']");
        assert_eq!(unescape("a\u{1b}[31m\u{7}\u{202e}b"), "a\u{fffd}[31m\u{fffd}\u{fffd}b");
        assert_eq!(unescape(r#"a\\b\"c\q\"#), r#"a\b"c\q\"#);
    }
}
