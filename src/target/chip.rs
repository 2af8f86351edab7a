//! The machines that a user can name.

use super::{Backend, gpu, tpu};

/// A machine that the user can name: a TPU generation or a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chip {
    /// A TPU.
    Tpu(tpu::Chip),
    /// A GPU.
    Gpu(gpu::Card),
}

impl Chip {
    /// Every chip: TPUs, then GPUs, oldest first.
    pub fn all() -> impl Iterator<Item = Chip> {
        tpu::Chip::ALL.into_iter().map(Chip::Tpu).chain(gpu::Card::ALL.into_iter().map(Chip::Gpu))
    }

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Chip::Tpu(chip) => chip.name(),
            Chip::Gpu(card) => card.name(),
        }
    }

    /// The chip of a name.
    pub fn from_name(name: &str) -> Option<Chip> {
        let tpu = tpu::Chip::from_name(name).map(Chip::Tpu);
        tpu.or_else(|| gpu::Card::from_name(name).map(Chip::Gpu))
    }

    /// The backend that compiles for it.
    pub const fn backend(self) -> Backend {
        match self {
            Chip::Tpu(_) => Backend::Tpu,
            Chip::Gpu(_) => Backend::Gpu,
        }
    }

    /// The TPU, where it is one.
    pub const fn tpu(self) -> Option<tpu::Chip> {
        match self {
            Chip::Tpu(chip) => Some(chip),
            Chip::Gpu(_) => None,
        }
    }

    /// The GPU, where it is one.
    pub const fn gpu(self) -> Option<gpu::Card> {
        match self {
            Chip::Gpu(card) => Some(card),
            Chip::Tpu(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Chip;

    #[test]
    fn every_name_is_one_chip() {
        for chip in Chip::all() {
            assert_eq!(Chip::from_name(chip.name()), Some(chip));
        }
        assert_eq!(Chip::from_name("tpu v5 lite"), Chip::from_name("v5e"));
        assert_eq!(Chip::from_name("t4"), None);
    }
}
