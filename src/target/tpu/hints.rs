//! `aliasing_operands` of a backend config: which results of an instruction ended up in the memory of
//! which operands (facts: tpu-memory section 5).

use crate::hlo::{InstructionId, Module};
use rustc_hash::FxHashMap;

/// What the text says of one instruction: for each numbered leaf (those of all operands first, then
/// those of the result) the lists it stands in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// Pairs of leaf and list, sorted.
    entries: Vec<(u32, u32)>,
}

impl Hint {
    /// Reads the value of a backend config; `None` where the key is absent.
    pub fn read(backend_config: &str) -> Option<Hint> {
        let at = memchr::memmem::find(backend_config.as_bytes(), b"aliasing_operands")?;
        let rest = backend_config.get(at..)?;
        let lists = rest.get(rest.find('[')?..)?;
        let mut entries = Vec::new();
        let (mut depth, mut list, mut number) = (0_u32, 0_u32, None::<u32>);
        for byte in lists.bytes() {
            if byte.is_ascii_digit() {
                let digit = u32::from(byte - b'0');
                number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
                continue;
            }
            if let Some(leaf) = number.take() {
                entries.push((leaf, list));
            }
            match byte {
                b'[' => depth += 1,
                b']' if depth <= 1 => break,
                b']' => depth -= 1,
                b'{' => list = list.saturating_add(1),
                _ => {}
            }
        }
        entries.sort_unstable();
        Some(Hint { entries })
    }

    /// Whether two leaves stand in one list.
    pub fn shares(&self, left: u32, right: u32) -> bool {
        let lists = |leaf| {
            let from = self.entries.partition_point(|entry| *entry < (leaf, 0));
            self.entries[from..]
                .iter()
                .take_while(move |entry| entry.0 == leaf)
                .map(|entry| entry.1)
        };
        lists(left).any(|list| lists(right).any(|other| other == list))
    }

    /// The leaves that stand in a list together with a leaf, in ascending order.
    pub fn partners(&self, leaf: u32) -> impl Iterator<Item = u32> {
        self.entries
            .iter()
            .map(|entry| entry.0)
            .filter(move |&other| other != leaf && self.shares(leaf, other))
    }
}

/// The hints of a module, read when first asked for.
#[derive(Debug, Default)]
pub struct SharingHints {
    read: FxHashMap<InstructionId, Option<Hint>>,
}

impl SharingHints {
    /// The hint of an instruction; `None` where the text has none.
    pub fn of(&mut self, module: &Module<'_>, id: InstructionId) -> Option<&Hint> {
        self.read
            .entry(id)
            .or_insert_with(|| module.backend_config(id).and_then(Hint::read))
            .as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::Hint;

    #[test]
    fn lists() {
        let plain = r#"{"flag_configs":[],"aliasing_operands":{"lists":[{"indices":["0","5"]},{"indices":["1","12","6"]}]},"x":["7"]}"#;
        let escaped = plain.replace('"', "\\\"");
        let blanks = plain.replace(':', ": ").replace(',', ", ");
        for text in [plain, &escaped, &blanks] {
            let hint = Hint::read(text).unwrap_or_default();
            assert!(hint.shares(0, 5) && hint.shares(12, 1) && hint.shares(6, 12), "{text}");
            assert!(!hint.shares(0, 1) && !hint.shares(7, 7) && !hint.shares(5, 6), "{text}");
            assert_eq!(hint.partners(6).collect::<Vec<_>>(), [1, 12]);
        }
    }

    #[test]
    fn absent_and_empty() {
        assert_eq!(Hint::read(r#"{"flag_configs":[]}"#), None);
        assert_eq!(Hint::read(r#"{"aliasing_operands":{"lists":[]}}"#), Some(Hint::default()));
    }
}
