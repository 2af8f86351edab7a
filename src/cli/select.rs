//! Which programs a command looks at, and as which machine it judges them: arguments that several
//! commands share.

use crate::config::{Settings, parse_bytes};
use crate::dump::{self, Dump};
use crate::target::Chip;
use crate::target::tpu::RuleSet;
use clap::Args;
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::path::PathBuf;

/// The programs.
#[derive(Debug, Args)]
pub struct Programs {
    /// Dump directories, HLO texts, archives (.tar, .tar.gz, .zip), or `-` for a text on stdin.
    #[arg(required = true)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    modules: Modules,
}

/// Which of the modules that are found.
#[derive(Debug, Args)]
pub struct Modules {
    /// Only modules whose names match, e.g. `jit_train*`; may be given several times.
    #[arg(long, value_name = "GLOB")]
    module: Vec<String>,
}

impl Programs {
    /// Finds and reads them.
    ///
    /// # Errors
    /// What is wrong with a pattern.
    pub fn open(&self) -> Result<Dump, String> {
        let options = dump::Options { modules: self.modules.globs()?, ..Default::default() };
        Ok(dump::open(&self.paths, &options))
    }

    /// Whether a module of a name is among those asked for.
    ///
    /// # Errors
    /// What is wrong with a pattern.
    pub fn filter(&self) -> Result<impl Fn(&str) -> bool, String> {
        let wanted = self.modules.globs()?;
        Ok(move |name: &str| wanted.as_ref().is_none_or(|wanted| wanted.is_match(name)))
    }
}

impl Modules {
    /// The patterns; `None` where there is none.
    ///
    /// # Errors
    /// What is wrong with a pattern.
    pub fn globs(&self) -> Result<Option<GlobSet>, String> {
        if self.module.is_empty() {
            return Ok(None);
        }
        let mut set = GlobSetBuilder::new();
        for pattern in &self.module {
            set.add(Glob::new(pattern).map_err(|error| format!("--module {error}"))?);
        }
        set.build().map(Some).map_err(|error| format!("--module {error}"))
    }
}

/// The machine, where the user knows it better than the dump.
#[derive(Debug, Args)]
pub struct Machine {
    /// The chip: v2, v3, v4, v5e, v5p, v6e, 7x; v100, a100-40, a100-80, a6000, h100, h200, b200,
    /// rtx6000pro. The dump names it unless a text stands alone.
    #[arg(long, value_parser = chip)]
    chip: Option<Chip>,

    /// Take --chip even where the dump names another chip.
    #[arg(long, requires = "chip")]
    force_chip: bool,

    /// HBM of one device, instead of the chip's.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    hbm: Option<u64>,

    /// The scoped VMEM limit that the flag xla_tpu_scoped_vmem_limit_kib gave all kernels, e.g.
    /// 8MiB. Read from the dump's tpu_comp_env where that is there; a kernel's vmem_limit_bytes
    /// holds before it.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    vmem_limit: Option<u64>,

    /// The rules of which libtpu to use, e.g. 0.0.42; found out from the dump where absent.
    #[arg(long, value_name = "VERSION", value_parser = compiler)]
    compiler: Option<RuleSet>,
}

impl Machine {
    /// The settings of a run that says no more than this.
    pub fn settings(&self) -> Settings {
        self.over(Settings::default())
    }

    /// What this says, before what the settings say.
    pub fn over(&self, settings: Settings) -> Settings {
        Settings {
            chip: self.chip.or(settings.chip),
            force_chip: self.force_chip,
            hbm_bytes: self.hbm.or(settings.hbm_bytes),
            vmem_limit_bytes: self.vmem_limit.or(settings.vmem_limit_bytes),
            compiler: self.compiler,
            ..settings
        }
    }
}

fn chip(name: &str) -> Result<Chip, String> {
    Chip::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Chip::all().map(Chip::name).collect();
        format!("no such chip; one of {}", names.join(", "))
    })
}

fn compiler(version: &str) -> Result<RuleSet, String> {
    RuleSet::of_version(version).ok_or_else(|| "not a version: write one like 0.0.42.1".to_owned())
}
