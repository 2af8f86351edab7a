//! A program, its module and the user's settings in; chip, compiler rules and policy out. One place,
//! so that every command judges a program alike.

use crate::config::Settings;
use crate::dump::{Program, backend_of};
use crate::hlo::Module;
use crate::target::tpu::{Chip, detect};
use crate::target::{Backend, Policy, gpu};

/// The machine a program was compiled for, and the rules of its compiler.
#[derive(Debug)]
pub struct Machine {
    /// Sizes, sharing, packing.
    pub policy: Policy,
    /// The chip, where it is known.
    pub chip: Option<Chip>,
    /// Which rules of which compiler were chosen, and why.
    pub compiler: String,
}

/// The user's settings contradict the dump.
#[derive(Debug)]
pub struct MachineError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: &'static str,
}

impl Machine {
    /// Finds out the machine: from the dump, and from the settings where they say more.
    ///
    /// # Errors
    /// A chip that contradicts the dump's own and is not insisted on.
    pub fn of(
        program: &Program,
        module: &Module<'_>,
        settings: &Settings,
    ) -> Result<Machine, MachineError> {
        let backend = program
            .backend
            .or_else(|| backend_of(module))
            .unwrap_or(if settings.chip.is_some() { Backend::Tpu } else { Backend::Cpu });
        if backend != Backend::Tpu {
            return Ok(Machine::without_tiles(backend, module, settings));
        }
        if let (Some(found), Some(wanted), false) =
            (program.chip, settings.chip, settings.force_chip)
            && found != wanted
        {
            return Err(MachineError {
                message: format!(
                    "compiled for {found}, not for {wanted}: layouts differ between chips"
                ),
                help: "leave --chip out, compile for the other chip, or insist with --force-chip",
            });
        }
        Ok(Machine::tpu(program, module, settings))
    }

    fn without_tiles(backend: Backend, module: &Module<'_>, settings: &Settings) -> Machine {
        let (mut policy, compiler) = match backend {
            Backend::Gpu => {
                let (rules, why) = gpu::detect(module.text);
                let compiler = format!("rules of {}: {why}", rules.releases());
                (Policy::gpu(rules), compiler)
            }
            _ => (Policy::cpu(), "rules of XLA:CPU".to_owned()),
        };
        policy.limit_bytes = settings.hbm_bytes;
        Machine { policy, chip: None, compiler }
    }

    fn tpu(program: &Program, module: &Module<'_>, settings: &Settings) -> Machine {
        let chip = settings.chip.or(program.chip);
        let signs = program.compiler_signs();
        let text = module.header.is_scheduled.then_some(module.text);
        let detected = detect(&signs.with_text(text, chip));
        let rules = settings.compiler.unwrap_or(detected.rules);
        let mut policy = Policy::tpu(chip.unwrap_or(Chip::V5e), rules);
        if chip.is_none() {
            policy.limit_bytes = None;
            policy.caveats.push(
                "the dump does not name its chip: sizes of tuple tables and the choice of heap are \
                 those of a v5e; name it with --chip"
                    .to_owned(),
            );
        }
        if let Some(hbm) = settings.hbm_bytes {
            policy.limit_bytes = Some(hbm);
        }
        let why = if settings.compiler.is_some() { "as asked for" } else { &detected.why };
        let compiler = format!("rules of libtpu {} and later: {why}", rules.first_version());
        Machine { policy, chip, compiler }
    }
}
