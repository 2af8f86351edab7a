//! The chips, and what the compiler says of them.
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

impl Chip {
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
}
