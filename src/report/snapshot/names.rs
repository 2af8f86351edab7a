//! A text that names instructions in; the same without their numbers out.

use crate::hlo::Module;
use rustc_hash::FxHashSet;

/// The numbered names of a module's instructions.
#[derive(Debug, Default)]
pub struct Names(FxHashSet<String>);

impl Names {
    /// The names of a module.
    pub fn of(module: &Module<'_>) -> Names {
        let names = module.ids().map(|id| module.instruction(id).name);
        Names(names.filter(|name| base(name) != *name).map(str::to_owned).collect())
    }

    /// `fusion.12 keeps 8` → `fusion keeps 8`.
    pub fn without_numbers(&self, text: &str) -> String {
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_in_name(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            let name = word.trim_end_matches(['.', '-']);
            if self.0.contains(name) {
                out.push_str(&base(name));
                out.push_str(&word[name.len()..]);
            } else {
                out.push_str(word);
            }
            let next = behind.find(is_in_name).unwrap_or(behind.len());
            out.push_str(&behind[..next]);
            rest = &behind[next..];
        }
        out
    }
}

/// A name without the parts that are numbers: `fusion.28.remat` → `fusion.remat`.
fn base(name: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts = name.split('.').enumerate().filter(|(at, part)| *at == 0 || !is_number(part));
    parts.map(|(_, part)| part).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn numbers_of_instructions_alone() {
        let known = ["copy.11", "fusion.28.remat", "while.6"].map(str::to_owned);
        let names = Names(known.into_iter().collect());
        let cases = [
            ("the loop copies its carry (copy.11)", "the loop copies its carry (copy)"),
            ("fusion.28.remat, while.6.", "fusion.remat, while."),
            (
                "16.00 GiB in copy.12 of params['layer.3']",
                "16.00 GiB in copy.12 of params['layer.3']",
            ),
            ("é copy.11 é", "é copy é"),
        ];
        for (text, expected) in cases {
            assert_eq!(names.without_numbers(text), expected);
        }
    }
}
