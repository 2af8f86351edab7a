//! The cards, and what XLA says of their memory.

/// A GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Card {
    /// NVIDIA V100 16 GB.
    V100,
    /// NVIDIA A100 40 GB.
    A100x40,
    /// NVIDIA A100 80 GB.
    A100x80,
    /// NVIDIA RTX A6000.
    A6000,
    /// NVIDIA H100 80 GB.
    H100,
    /// NVIDIA H200.
    H200,
    /// NVIDIA B200.
    B200,
    /// NVIDIA RTX PRO 6000.
    RtxPro6000,
}

impl Card {
    /// Every card, oldest first.
    pub const ALL: [Card; 8] = [
        Card::V100,
        Card::A100x40,
        Card::A100x80,
        Card::A6000,
        Card::H100,
        Card::H200,
        Card::B200,
        Card::RtxPro6000,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Card::V100 => "v100",
            Card::A100x40 => "a100-40",
            Card::A100x80 => "a100-80",
            Card::A6000 => "a6000",
            Card::H100 => "h100",
            Card::H200 => "h200",
            Card::B200 => "b200",
            Card::RtxPro6000 => "rtx6000pro",
        }
    }

    /// The card of a name: those of [`Card::name`], with `gpu` or `nvidia` before.
    pub fn from_name(name: &str) -> Option<Card> {
        let lower = name.trim().to_ascii_lowercase();
        let bare = lower.trim_start_matches("nvidia").trim_start_matches("gpu").trim_start();
        Some(match bare {
            "v100" | "v100-16" => Card::V100,
            "a100" | "a100-40" | "a100-40gb" => Card::A100x40,
            "a100-80" | "a100-80gb" => Card::A100x80,
            "a6000" | "rtx a6000" => Card::A6000,
            "h100" | "h100-80" => Card::H100,
            "h200" => Card::H200,
            "b200" => Card::B200,
            "rtx6000pro" | "rtxpro6000" => Card::RtxPro6000,
            _ => return None,
        })
    }

    /// The card that `gpu_target_config.pbtxt` describes: the one with exactly its memory.
    pub fn from_memory(memory_bytes: u64) -> Option<Card> {
        Card::ALL.into_iter().find(|card| card.memory_bytes() == memory_bytes)
    }

    /// `device_memory_size` of XLA's own description of the card (facts: gpu-cpu-memory section 12).
    pub const fn memory_bytes(self) -> u64 {
        match self {
            Card::V100 => 16_935_682_048,
            Card::A100x40 => 42_331_013_120,
            Card::A100x80 => 85_100_068_864,
            Card::A6000 => 51_041_271_808,
            Card::H100 => 84_942_979_072,
            Card::H200 => 151_397_597_184,
            Card::B200 => 191_514_411_008,
            Card::RtxPro6000 => 103_079_215_104,
        }
    }
}

impl std::fmt::Display for Card {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Card;

    #[test]
    fn names_and_memories_are_unique() {
        for card in Card::ALL {
            assert_eq!(Card::from_name(card.name()), Some(card));
            assert_eq!(Card::from_memory(card.memory_bytes()), Some(card));
        }
        assert_eq!(Card::from_name("v5e"), None);
        assert_eq!(Card::from_memory(1), None);
    }
}
