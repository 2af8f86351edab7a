//! The chips, and what the compiler says of them.

use super::release::RuleSet;
use super::space;

/// A TPU generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chip {
    /// TPU v2.
    V2,
    /// TPU v3.
    V3,
    /// TPU v4.
    V4,
    /// TPU v5e (v5 lite).
    V5e,
    /// TPU v5p.
    V5p,
    /// TPU v6e (v6 lite, Trillium).
    V6e,
    /// TPU7x (Ironwood).
    V7x,
}

const MIB: u64 = 1 << 20;

impl Chip {
    /// Every chip, oldest first.
    pub const ALL: [Chip; 7] =
        [Chip::V2, Chip::V3, Chip::V4, Chip::V5e, Chip::V5p, Chip::V6e, Chip::V7x];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Chip::V2 => "v2",
            Chip::V3 => "v3",
            Chip::V4 => "v4",
            Chip::V5e => "v5e",
            Chip::V5p => "v5p",
            Chip::V6e => "v6e",
            Chip::V7x => "7x",
        }
    }

    /// The chip of a name: those of [`Chip::name`], JAX's `device_kind`, topology names.
    pub fn from_name(name: &str) -> Option<Chip> {
        let lower = name.trim().to_ascii_lowercase();
        let bare = lower.trim_start_matches("tpu").trim_start();
        Some(match bare {
            "v2" => Chip::V2,
            "v3" => Chip::V3,
            "v4" => Chip::V4,
            "v5e" | "v5 lite" | "v5lite" | "v5litepod" => Chip::V5e,
            "v5p" | "v5" => Chip::V5p,
            "v6e" | "v6 lite" | "v6lite" => Chip::V6e,
            "7x" | "v7x" | "v7" => Chip::V7x,
            _ => return None,
        })
    }

    /// The chip that `target_arguments.txt` names (facts: tpu-memory section 8). Compilers up to
    /// 0.0.24 print a number in place of the name.
    pub fn from_target_arguments(text: &str) -> Option<Chip> {
        let field = |key: &str| {
            text.lines().find_map(|line| {
                let value = line.trim().strip_prefix(key)?.trim_start().strip_prefix(':')?;
                Some(value.trim().trim_matches('"'))
            })
        };
        let version = field("version")?.trim_start_matches("TPU_VERSION_");
        let is_lite = field("variant") == Some("lite");
        Some(match version {
            "JELLYFISH" | "ba16c7433" => Chip::V2,
            "DRAGONFISH" | "6bf72d463e" => Chip::V3,
            "PUFFERFISH" | "e0897fcce0" => Chip::V4,
            "VIPERFISH" | "2093c6a02" if is_lite => Chip::V5e,
            "VIPERFISH" | "2093c6a02" => Chip::V5p,
            "GHOSTLITE" | "cc8675309" => Chip::V6e,
            "6acc60406" => Chip::V7x,
            _ => return None,
        })
    }

    /// HBM that one device has for a program: what the compiler prints as available. Exact on v5e
    /// (16 GiB less 258 MiB); of the others the compiler prints two decimals of a GiB, so up to 0.005
    /// GiB are open (facts: errors-e1000-e1001, capacities). v4 and v5p in their default
    /// configuration.
    pub const fn hbm_bytes(self, rules: RuleSet) -> u64 {
        let newer = (rules as u8) >= (RuleSet::P46 as u8);
        match (self, newer) {
            (Chip::V2, _) => 7660 * MIB,
            (Chip::V3, _) => 15852 * MIB,
            (Chip::V4, _) => 15616 * MIB,
            (Chip::V5e, _) => 16126 * MIB,
            (Chip::V5p, false) => 98041 * MIB,
            (Chip::V5p, true) => 98028 * MIB,
            (Chip::V6e, false) => 32000 * MIB,
            (Chip::V6e, true) => 31990 * MIB,
            (Chip::V7x, false) => 97024 * MIB,
            (Chip::V7x, true) => 97014 * MIB,
        }
    }

    /// Physical HBM of one device, the compiler's own reserve included.
    pub const fn physical_hbm_bytes(self) -> u64 {
        (match self {
            Chip::V2 => 8,
            Chip::V3 | Chip::V4 | Chip::V5e => 16,
            Chip::V5p | Chip::V7x => 96,
            Chip::V6e => 32,
        }) << 30
    }

    /// VMEM of one core that a program can use (measured: facts, mosaic-vmem section 9).
    pub const fn vmem_bytes(self) -> u64 {
        match self {
            Chip::V2 | Chip::V3 | Chip::V4 => 16 * MIB,
            Chip::V5e => 128 * MIB,
            Chip::V6e => 134_152_192,
            Chip::V5p | Chip::V7x => 67_043_328,
        }
    }

    /// What sizes of tuple tables are multiples of (measured: facts, tpu-memory section 1.7).
    pub const fn table_granule_bytes(self) -> u64 {
        match self {
            Chip::V2 | Chip::V3 => 1024,
            Chip::V4 | Chip::V5e => 512,
            Chip::V5p | Chip::V6e | Chip::V7x => 32,
        }
    }

    /// Memory spaces that memory space assignment fills; an allocation of each exists even when it
    /// is empty (measured: facts, tpu-memory section 4).
    pub const fn preset_spaces(self) -> &'static [i64] {
        match self {
            Chip::V2 | Chip::V3 => &[],
            Chip::V4 => &[space::CMEM],
            Chip::V5e | Chip::V5p | Chip::V6e | Chip::V7x => &[space::VMEM],
        }
    }
}

impl std::fmt::Display for Chip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
