//! The `backend_config` of a TPU kernel in; what the estimate needs of it out (facts: mosaic-vmem
//! section 1).

use super::Unknown;
use serde::Deserialize;
use std::borrow::Cow;

/// The parts of a backend config that speak of memory. 64-bit numbers are quoted or not, absent
/// lists are empty: both printings of the same message.
#[derive(Debug, Default, Deserialize)]
pub struct Config<'t> {
    /// The kernel.
    #[serde(borrow, default)]
    pub custom_call_config: CustomCall<'t>,
    /// Which core runs it; empty for the TensorCore.
    #[serde(borrow, default)]
    pub device_type: Cow<'t, str>,
    /// What the kernel asks for.
    #[serde(default)]
    pub scoped_memory_configs: Vec<ScopedMemory>,
    /// What the compiler recorded.
    #[serde(default)]
    pub used_scoped_memory_configs: Vec<ScopedMemory>,
}

/// `custom_call_config`.
#[derive(Debug, Default, Deserialize)]
pub struct CustomCall<'t> {
    /// The kernel's bytecode in base64.
    #[serde(borrow, default)]
    pub body: Cow<'t, str>,
    /// Bytes of internal scratch that the user asks for, 0 where absent.
    #[serde(default)]
    pub internal_scratch_in_bytes: Number,
    /// Operands that must lie in a memory.
    #[serde(default)]
    pub input_memory_space_colors: Vec<Colour>,
    /// Results that must lie in a memory.
    #[serde(default)]
    pub output_memory_space_colors: Vec<Colour>,
}

/// A stretch of scoped memory.
#[derive(Debug, Deserialize)]
pub struct ScopedMemory {
    /// Which memory; VMEM is 1.
    #[serde(default)]
    pub memory_space: Number,
    /// Where it starts, bytes.
    #[serde(default)]
    pub offset: Number,
    /// Where it ends, or how much it may be, bytes.
    #[serde(default)]
    pub size: Number,
}

/// A memory that an operand or result must lie in.
#[derive(Debug, Deserialize)]
pub struct Colour {
    /// The operand.
    #[serde(default)]
    pub operand_index: Number,
    /// The memory.
    #[serde(default)]
    pub color: Number,
    /// Which result of several.
    #[serde(default)]
    pub shape_index: Vec<Number>,
}

/// A number, quoted or not; 0 where it is none.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(from = "serde_json::Value")]
pub struct Number(pub u64);

impl From<serde_json::Value> for Number {
    fn from(value: serde_json::Value) -> Self {
        let number = value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
        Number(number.unwrap_or(0))
    }
}

const VMEM: u64 = 1;

/// Reads a backend config as a dictionary.
///
/// # Errors
/// What is not JSON of this form.
pub fn read(text: &str) -> Result<Config<'_>, Unknown> {
    serde_json::from_str(text).map_err(|_| Unknown::Config)
}

impl Config<'_> {
    /// Where the stack starts and the size of the entry for VMEM of what is asked for.
    pub fn asked(&self) -> Option<(u64, u64)> {
        in_vmem(&self.scoped_memory_configs)
    }

    /// Bytes that the compiler recorded as used, those below the stack's start left out.
    pub fn used_bytes(&self) -> Option<u64> {
        let (_, end) = in_vmem(&self.used_scoped_memory_configs)?;
        Some(end.saturating_sub(self.asked().map_or(0, |(offset, _)| offset)))
    }
}

fn in_vmem(list: &[ScopedMemory]) -> Option<(u64, u64)> {
    list.iter()
        .find(|entry| entry.memory_space.0 == VMEM)
        .map(|entry| (entry.offset.0, entry.size.0))
}

/// A backend config as a dictionary: a quoted one without its escapes.
pub fn unquoted(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.starts_with("{\\") || text.contains("\\\"") && text.starts_with("{\\\"") {
        return Cow::Owned(text.replace("\\\"", "\"").replace("\\\\", "\\"));
    }
    Cow::Borrowed(text)
}
