//! A program, its module and the user's settings in; chip, compiler rules and policy out. One place,
//! so that every command judges a program alike.

use crate::config::Settings;
use crate::dump::side::tpu_comp_env;
use crate::dump::{Program, SideKind, backend_of};
use crate::hlo::Module;
use crate::target::tpu::mosaic::Circumstances;
use crate::target::tpu::{self, detect};
use crate::target::{Backend, Chip, Policy, gpu};

/// The machine a program was compiled for, and the rules of its compiler.
#[derive(Debug)]
pub struct Machine {
    /// Sizes, sharing, packing.
    pub policy: Policy,
    /// The chip as reports name it, where it is known.
    pub chip: Option<String>,
    /// Which rules of which compiler were chosen, and why.
    pub compiler: String,
    /// The compiler's build, where the dump names it.
    pub build: Option<String>,
    /// What Pallas kernels are judged by, on a TPU.
    pub kernels: Option<Circumstances>,
    /// Embedding tables that SparseCores handle one after the other, by flag; 0 where it is not set.
    pub serialized_tables: u64,
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
            .or_else(|| settings.chip.map(Chip::backend))
            .unwrap_or(Backend::Cpu);
        match backend {
            Backend::Tpu => {}
            Backend::Gpu => return Ok(Machine::gpu(program, module, settings)),
            Backend::Cpu => return Ok(Machine::cpu(settings)),
        }
        let wanted = settings.chip.and_then(Chip::tpu);
        if let (Some(found), Some(wanted), false) = (program.chip, wanted, settings.force_chip)
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

    /// Sizes do not depend on the card, so another one may be named to see whether it would do.
    fn gpu(program: &Program, module: &Module<'_>, settings: &Settings) -> Machine {
        let (rules, why) = gpu::detect(module.text, program.architecture.as_deref());
        let mut policy = Policy::gpu(rules);
        let wanted = settings.chip.and_then(Chip::gpu);
        let found = program.gpu.as_ref();
        let memory = found.and_then(|found| found.memory_bytes);
        policy.limit_bytes =
            settings.hbm_bytes.or_else(|| wanted.map(gpu::Card::memory_bytes)).or(memory);
        policy.card = wanted.or_else(|| memory.and_then(gpu::Card::from_memory));
        let name = policy.card.map(|card| card.name().to_owned());
        let chip = name.or_else(|| found.map(|found| found.name.clone()));
        let compiler = format!("rules of {}: {why}", rules.releases());
        Machine {
            policy,
            chip: chip.filter(|name| !name.is_empty()),
            compiler,
            build: None,
            kernels: None,
            serialized_tables: 0,
        }
    }

    /// There is no limit but the one that the user states.
    fn cpu(settings: &Settings) -> Machine {
        let mut policy = Policy::cpu();
        policy.limit_bytes = settings.hbm_bytes;
        Machine {
            policy,
            chip: None,
            compiler: "rules of XLA:CPU".to_owned(),
            build: None,
            kernels: None,
            serialized_tables: 0,
        }
    }

    fn tpu(program: &Program, module: &Module<'_>, settings: &Settings) -> Machine {
        let chip = settings.chip.and_then(Chip::tpu).or(program.chip);
        let signs = program.compiler_signs();
        let text = module.header.is_scheduled.then_some(module.text);
        let detected = detect(&signs.with_text(text, chip));
        let rules = settings.compiler.unwrap_or(detected.rules);
        let mut policy = Policy::tpu(chip.unwrap_or(tpu::Chip::V5e), rules);
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
        let has_kernels = module.text.contains(KERNEL);
        let flag_limit_bytes = settings
            .vmem_limit_bytes
            .or_else(|| if has_kernels { vmem_flag(program) } else { None });
        let kernels = Some(Circumstances { chip, rules, flag_limit_bytes });
        let has_tables = TABLES.iter().any(|sign| module.text.contains(sign));
        let serialized_tables = if has_tables { serialized(program) } else { 0 };
        let chip = chip.map(|chip| chip.name().to_owned());
        Machine {
            policy,
            chip,
            compiler,
            build: program.build.map(build),
            kernels,
            serialized_tables,
        }
    }
}

/// `libtpu 0.0.52 (cl_1014260217)`; a build that is not of the table without its version.
fn build(build: u64) -> String {
    let release = tpu::RELEASES.iter().find(|release| release.build == build);
    match release {
        Some(release) => format!("libtpu {} (cl_{build})", release.version),
        None => format!("libtpu cl_{build}"),
    }
}

/// The target of a call of a TPU kernel.
const KERNEL: &str = "tpu_custom_call";

/// Signs of embedding tables on SparseCores, before and after optimizations.
const TABLES: [&str; 2] = ["SparseDenseMatmul", "OFFLOAD_EMBEDDING"];

/// The flag `xla_sc_num_serialized_tables_to_optimize_hbm` of the compile; 0 where it is not set.
fn serialized(program: &Program) -> u64 {
    let flag = || {
        let source = program.side(SideKind::TpuCompEnv)?.read().ok()?;
        let flags = tpu_comp_env::parse(source.text().ok()?).ok()?;
        flags.value("xla_sc_num_serialized_tables_to_optimize_hbm")?.parse().ok()
    };
    flag().unwrap_or(0)
}

/// The flag `xla_tpu_scoped_vmem_limit_kib` of the compile, in bytes; -1 and 0 mean the default.
fn vmem_flag(program: &Program) -> Option<u64> {
    let source = program.side(SideKind::TpuCompEnv)?.read().ok()?;
    let flags = tpu_comp_env::parse(source.text().ok()?).ok()?;
    let kib: u64 = flags.value("xla_tpu_scoped_vmem_limit_kib")?.parse().ok()?;
    kib.checked_mul(1024).filter(|&bytes| bytes > 0)
}
