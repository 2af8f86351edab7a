//! A file's name in; which compile it belongs to and what it holds out.
//!
//! XLA names a dump file `[<microseconds>.]module_<number>.<module>[.cl_<build>].<suffix>`; a module's
//! name may contain dots itself, so that names are read from both ends. Forms measured with libtpu
//! 0.0.11 to 0.0.52 and jaxlib 0.4.38 to 0.10.2.

use crate::target::Backend;
use serde::Serialize;

/// A point of the compilation at which XLA wrote the module's text, in the order of preference for
/// an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// `after_optimizations`, scheduled: the text that XLA's own memory files belong to.
    AfterOptimizations,
    /// `after_optimizations_after_buffer_assignment`: a copy of it.
    AfterBufferAssignment,
    /// `oom_intermediate_module`: a copy of it, left behind when memory ran out.
    OomIntermediate,
    /// `after_codegen`: scheduled, with the same memory figures.
    AfterCodegen,
    /// `after_optimizations_before_buffer_assignment`: scheduled, memory spaces not assigned yet.
    BeforeBufferAssignment,
    /// A HLO text whose name says no stage.
    Unnamed,
    /// `before_optimizations`: as handed to the compiler.
    BeforeOptimizations,
    /// A text between two passes.
    Pass,
}

impl Stage {
    /// The name that reports print, close to that of the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::AfterOptimizations => "after_optimizations",
            Stage::AfterBufferAssignment => "after_buffer_assignment",
            Stage::OomIntermediate => "oom_intermediate",
            Stage::AfterCodegen => "after_codegen",
            Stage::BeforeBufferAssignment => "before_buffer_assignment",
            Stage::Unnamed => "unnamed",
            Stage::BeforeOptimizations => "before_optimizations",
            Stage::Pass => "pass",
        }
    }
}

/// A file that XLA writes beside the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SideKind {
    /// Allocations and the values in them.
    BufferAssignment,
    /// Positions and uses of the values.
    BufferAssignmentValues,
    /// Flattened schedule and live ranges.
    LiveRange,
    /// Totals by memory space.
    MemoryUsageReport,
    /// Chip and topology.
    TargetArguments,
    /// The flags of the TPU compiler.
    TpuCompEnv,
    /// The description of a GPU.
    GpuTargetConfig,
    /// `oom_top_memory_consuming_instructions`: text of an out-of-memory error.
    OomTopInstructions,
    /// `topology.textproto` of the module's own directory.
    Topology,
    /// A log of the compile, kept beside the dump by its user.
    CompileLog,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// A HLO text.
    Text(Stage),
    /// XLA's own figures or settings.
    Side(SideKind),
    /// A module as a binary proto.
    Proto,
    /// A `tar` or `zip` archive.
    Archive,
    /// A text whose name says nothing: it may be HLO.
    Unknown,
    /// Something that is not read.
    Other,
}

/// A file's name, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName<'a> {
    /// What the names of all files of one compile begin with.
    pub prefix: &'a str,
    /// The module's name; empty where the file has none.
    pub module: &'a str,
    /// The number behind `module_`: a counter of the process.
    pub number: Option<u64>,
    /// The number behind `.cl_`: the build of libtpu.
    pub build: Option<u64>,
    /// The backend, where the name tells it.
    pub backend: Option<Backend>,
    /// The GPU architecture (`sm_9.0a`).
    pub architecture: Option<&'a str>,
    /// What the file holds.
    pub content: Content,
    /// Whether the file is compressed with gzip.
    pub gzip: bool,
}

/// Suffixes of texts, behind the prefix and a dot.
const TEXTS: [(&str, Stage); 8] = [
    ("after_optimizations.txt", Stage::AfterOptimizations),
    ("cpu_after_optimizations.txt", Stage::AfterOptimizations),
    ("gpu_after_optimizations.txt", Stage::AfterOptimizations),
    ("after_optimizations_after_buffer_assignment.txt", Stage::AfterBufferAssignment),
    ("after_optimizations_before_buffer_assignment.txt", Stage::BeforeBufferAssignment),
    ("oom_intermediate_module.txt", Stage::OomIntermediate),
    ("after_codegen.txt", Stage::AfterCodegen),
    ("before_optimizations.txt", Stage::BeforeOptimizations),
];

/// Suffixes of side files that stand behind the name of a stage.
const OF_STAGE: [(&str, SideKind); 4] = [
    ("after_optimizations-buffer-assignment.txt", SideKind::BufferAssignment),
    ("after_optimizations-buffer-assignment-values.txt", SideKind::BufferAssignmentValues),
    ("after_optimizations-live-range.txt", SideKind::LiveRange),
    ("after_optimizations-memory-usage-report.txt", SideKind::MemoryUsageReport),
];

/// Suffixes of the other side files.
const OF_MODULE: [(&str, SideKind); 6] = [
    ("target_arguments.txt", SideKind::TargetArguments),
    ("tpu_comp_env.txt", SideKind::TpuCompEnv),
    ("gpu_target_config.pbtxt", SideKind::GpuTargetConfig),
    ("oom_top_memory_consuming_instructions", SideKind::OomTopInstructions),
    ("topology.textproto", SideKind::Topology),
    ("compile.log", SideKind::CompileLog),
];

/// Files of a compile that are known and not read.
const OTHERS: [&str; 8] = [
    "hlo_module_config.txt",
    "execution_options.txt",
    "transfer_stats.txt",
    "basic_compiler_metadata.txt",
    "sdc_metadata.txt",
    "peak_memory_tensors.txt",
    "metadata.textproto",
    "compile_options.textproto",
];

impl<'a> FileName<'a> {
    /// Takes a name (without directories) apart.
    pub fn parse(name: &'a str) -> FileName<'a> {
        if is_archive(name) {
            return FileName::whole(name, Content::Archive);
        }
        let (plain, gzip) = match name.strip_suffix(".gz") {
            Some(plain) => (plain, true),
            None => (name, false),
        };
        let (stem, content, backend) = suffix(plain);
        let mut parsed = FileName::of_prefix(stem, content);
        parsed.gzip = gzip;
        parsed.backend = backend.or(parsed.build.map(|_| Backend::Tpu));
        if backend == Some(Backend::Gpu) {
            parsed.take_architecture();
        }
        parsed
    }

    /// Takes a prefix apart.
    pub fn of_compile(prefix: &'a str) -> FileName<'a> {
        FileName::of_prefix(prefix, Content::Other)
    }

    fn whole(name: &'a str, content: Content) -> FileName<'a> {
        FileName {
            prefix: name,
            module: name,
            number: None,
            build: None,
            backend: None,
            architecture: None,
            content,
            gzip: false,
        }
    }

    /// Reads `[<microseconds>.]module_<number>[.<module>][.cl_<build>]`.
    fn of_prefix(prefix: &'a str, content: Content) -> FileName<'a> {
        let mut parsed = FileName::whole(prefix, content);
        let (timestamp, rest) = leading_number(prefix);
        let rest = match (timestamp, rest.strip_prefix('.')) {
            (Some(_), Some(rest)) => rest,
            _ => prefix,
        };
        let Some(rest) = rest.strip_prefix("module_") else { return parsed };
        let (number, rest) = leading_number(rest);
        if number.is_none() {
            return parsed;
        }
        parsed.number = number;
        parsed.module = rest.strip_prefix('.').unwrap_or("");
        if let Some((module, build)) = parsed.module.rsplit_once("cl_")
            && let Ok(build) = build.parse()
            && (module.is_empty() || module.ends_with('.'))
        {
            parsed.module = module.strip_suffix('.').unwrap_or("");
            parsed.build = Some(build);
        }
        parsed
    }

    /// Moves `.sm_9.0a` from the end of the prefix to the architecture.
    fn take_architecture(&mut self) {
        let Some(stem) = self.prefix.strip_suffix('_') else { return };
        let start = stem.rfind(".sm_").or_else(|| stem.rfind('.'));
        let Some(start) = start else { return };
        let architecture = &stem[start + 1..];
        let prefix = &stem[..start];
        *self = FileName {
            architecture: Some(architecture),
            gzip: self.gzip,
            backend: self.backend,
            ..FileName::of_prefix(prefix, self.content)
        };
    }
}

/// Splits a name into the part in front of a known suffix, what that suffix says, and the backend.
fn suffix(name: &str) -> (&str, Content, Option<Backend>) {
    if let Some(stem) = pass_stem(name) {
        return (stem, Content::Text(Stage::Pass), None);
    }
    for (suffix, stage) in TEXTS {
        if let Some((stem, backend)) = strip(name, suffix) {
            return (stem, Content::Text(stage), backend);
        }
    }
    for (suffix, kind) in OF_STAGE {
        if let Some((stem, backend)) = strip_stage(name, suffix) {
            return (stem, Content::Side(kind), backend);
        }
    }
    for (suffix, kind) in OF_MODULE {
        if let Some((stem, _)) = strip(name, suffix) {
            return (stem, Content::Side(kind), None);
        }
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_other = OTHERS.iter().any(|other| strip(name, other).is_some());
    let content = match extension {
        _ if is_other => Content::Other,
        "pb" => Content::Proto,
        "txt" | "hlo" => Content::Unknown,
        _ => Content::Other,
    };
    let stem = match content {
        Content::Proto => stem.strip_suffix(".hlo").unwrap_or(stem),
        Content::Unknown => stem.strip_suffix(".hlo").unwrap_or(stem),
        _ => stem,
    };
    (stem, content, None)
}

/// Strips `.suffix`, or the whole name; for GPU suffixes the architecture stays, with its `_`.
fn strip<'a>(name: &'a str, suffix: &str) -> Option<(&'a str, Option<Backend>)> {
    let backend = match suffix.get(..4) {
        Some("cpu_") => Some(Backend::Cpu),
        Some("gpu_") if suffix.contains("after_optimizations") => Some(Backend::Gpu),
        _ => None,
    };
    let stem = name.strip_suffix(suffix)?;
    if stem.is_empty() {
        return Some(("", backend));
    }
    if let Some(stem) = stem.strip_suffix('.') {
        return Some((stem, backend));
    }
    (backend == Some(Backend::Gpu) && stem.ends_with('_')).then_some((stem, backend))
}

/// The same for a side file of a stage, whose suffix may have `cpu_` or `gpu_` in front.
fn strip_stage<'a>(name: &'a str, suffix: &str) -> Option<(&'a str, Option<Backend>)> {
    let stem = name.strip_suffix(suffix)?;
    if stem.is_empty() {
        return Some(("", None));
    }
    if let Some(stem) = stem.strip_suffix('.') {
        return Some((stem, None));
    }
    if let Some(stem) = stem.strip_suffix("cpu_") {
        let stem = if stem.is_empty() { stem } else { stem.strip_suffix('.')? };
        return Some((stem, Some(Backend::Cpu)));
    }
    let stem = stem.strip_suffix("gpu_")?;
    Some((stem.strip_suffix('.').unwrap_or(stem), Some(Backend::Gpu)))
}

/// The prefix of a text between two passes:
/// `<prefix>.<number>.<pipeline>[.after_<pass>][.before_<pass>].txt`.
fn pass_stem(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".txt")?;
    let after = stem.find(".after_");
    let before = stem.rfind(".before_");
    let passes = match (after, before) {
        (Some(after), Some(before)) => after.min(before),
        (Some(at), None) | (None, Some(at)) => at,
        (None, None) => return None,
    };
    let is_stage = after.is_none() && stem.ends_with(".before_optimizations")
        || before.is_none() && TEXTS.iter().any(|(suffix, _)| strip(name, suffix).is_some());
    if is_stage {
        return None;
    }
    let front = &stem[..passes];
    // The pipeline may contain dots: its number is the last part of four digits or more.
    let mut end = front.len();
    while let Some(dot) = front[..end].rfind('.') {
        let (number, rest) = leading_number(&front[dot + 1..]);
        let digits = front.len() - dot - 1 - rest.len();
        if number.is_some() && digits >= 4 && rest.starts_with('.') {
            return Some(&front[..dot]);
        }
        end = dot;
    }
    None
}

/// Splits leading decimal digits off; no number without digits or above 64 bits.
fn leading_number(text: &str) -> (Option<u64>, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (text[..digits].parse().ok(), &text[digits..])
}

/// Whether a name is that of an archive that is read in place.
pub fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".tar", ".tar.gz", ".tgz", ".zip"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (&'static str, &'static str, &'static str, Option<u64>, Option<Backend>, Content);

    #[test]
    fn names_of_all_forms() {
        use Backend::{Cpu, Gpu, Tpu};
        use Content::{Archive, Other, Proto, Side, Text, Unknown};
        let rows: &[Row] = &[
            (
                "module_0000.jit_f.cl_933746096.after_optimizations.txt",
                "module_0000.jit_f.cl_933746096",
                "jit_f",
                Some(933746096),
                Some(Tpu),
                Text(Stage::AfterOptimizations),
            ),
            (
                "1781719728123456.module_0012.jit__lambda.cl_9.before_optimizations.txt",
                "1781719728123456.module_0012.jit__lambda.cl_9",
                "jit__lambda",
                Some(9),
                Some(Tpu),
                Text(Stage::BeforeOptimizations),
            ),
            (
                "module_0000.jit_f.cl_9.after_optimizations_before_buffer_assignment.txt",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Text(Stage::BeforeBufferAssignment),
            ),
            (
                "module_0000.jit_f.cl_9.after_optimizations_after_buffer_assignment.txt",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Text(Stage::AfterBufferAssignment),
            ),
            (
                "module_0000.jit_f.cl_9.after_codegen.txt.gz",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Text(Stage::AfterCodegen),
            ),
            (
                "module_0000.jit_f.cl_9.oom_intermediate_module.txt",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Text(Stage::OomIntermediate),
            ),
            (
                "module_0000.jit_f.cl_9.0016.tpu-tiling-rewriter.before_tiling_rewriter.txt",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Text(Stage::Pass),
            ),
            (
                "module_0000.jit_f.cl_9.0039.copy-insertion.after_adding_copies.txt",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Text(Stage::Pass),
            ),
            (
                "module_0000.jit_f.cl_9.0000.opt.after_pipeline-start.before_optimizations.txt",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Text(Stage::Pass),
            ),
            (
                "module_0003.jit_f.1234.0003.HLO passes.after_x.before_y.txt",
                "module_0003.jit_f.1234",
                "jit_f.1234",
                None,
                None,
                Text(Stage::Pass),
            ),
            (
                "module_0003.jit_f.1234.before_optimizations.txt",
                "module_0003.jit_f.1234",
                "jit_f.1234",
                None,
                None,
                Text(Stage::BeforeOptimizations),
            ),
            (
                "module_0003.a.b.cl_1.c.cl_77.after_codegen.txt",
                "module_0003.a.b.cl_1.c.cl_77",
                "a.b.cl_1.c",
                Some(77),
                Some(Tpu),
                Text(Stage::AfterCodegen),
            ),
            (
                "module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt",
                "module_0001.jit_f",
                "jit_f",
                None,
                Some(Gpu),
                Text(Stage::AfterOptimizations),
            ),
            (
                "module_0001.jit_f.sm_12.0_gpu_after_optimizations-buffer-assignment.txt",
                "module_0001.jit_f",
                "jit_f",
                None,
                Some(Gpu),
                Side(SideKind::BufferAssignment),
            ),
            (
                "module_0001.jit_f.gpu_after_optimizations-live-range.txt",
                "module_0001.jit_f",
                "jit_f",
                None,
                Some(Gpu),
                Side(SideKind::LiveRange),
            ),
            (
                "module_0001.jit_f.gpu_after_optimizations.txt",
                "module_0001.jit_f",
                "jit_f",
                None,
                Some(Gpu),
                Text(Stage::AfterOptimizations),
            ),
            (
                "module_0001.jit_f.gfx942_gpu_after_optimizations.txt",
                "module_0001.jit_f",
                "jit_f",
                None,
                Some(Gpu),
                Text(Stage::AfterOptimizations),
            ),
            (
                "module_0000.jit_f.cpu_after_optimizations.txt",
                "module_0000.jit_f",
                "jit_f",
                None,
                Some(Cpu),
                Text(Stage::AfterOptimizations),
            ),
            (
                "module_0000.jit_f.cpu_after_optimizations-memory-usage-report.txt",
                "module_0000.jit_f",
                "jit_f",
                None,
                Some(Cpu),
                Side(SideKind::MemoryUsageReport),
            ),
            (
                "module_0002.jit__lambda.after_optimizations.txt",
                "module_0002.jit__lambda",
                "jit__lambda",
                None,
                None,
                Text(Stage::AfterOptimizations),
            ),
            (
                "module_0000.jit_f.cl_9.after_optimizations-buffer-assignment-values.txt",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Side(SideKind::BufferAssignmentValues),
            ),
            (
                "module_0000.jit_f.cl_9.oom_top_memory_consuming_instructions",
                "module_0000.jit_f.cl_9",
                "jit_f",
                Some(9),
                Some(Tpu),
                Side(SideKind::OomTopInstructions),
            ),
            (
                "module_0001.jit_f.gpu_target_config.pbtxt",
                "module_0001.jit_f",
                "jit_f",
                None,
                None,
                Side(SideKind::GpuTargetConfig),
            ),
            (
                "module_0000.jit_f.cl_9.after_optimizations.hlo.pb.gz",
                "module_0000.jit_f.cl_9.after_optimizations",
                "jit_f.cl_9.after_optimizations",
                None,
                None,
                Proto,
            ),
            (
                "module_0000.jit_f.cl_9.hlo_module_config.txt",
                "module_0000.jit_f.cl_9.hlo_module_config",
                "jit_f.cl_9.hlo_module_config",
                None,
                None,
                Other,
            ),
            (
                "module_0000.before_optimizations.txt",
                "module_0000",
                "",
                None,
                None,
                Text(Stage::BeforeOptimizations),
            ),
            ("my.model.hlo.txt", "my.model", "my.model", None, None, Unknown),
            ("my.model.hlo", "my.model", "my.model", None, None, Unknown),
            ("compile.log", "", "", None, None, Side(SideKind::CompileLog)),
            ("dump.tar.gz", "dump.tar.gz", "dump.tar.gz", None, None, Archive),
            ("before_optimizations.txt", "", "", None, None, Text(Stage::BeforeOptimizations)),
        ];
        for (name, prefix, module, build, backend, content) in rows {
            let parsed = FileName::parse(name);
            let found =
                (parsed.prefix, parsed.module, parsed.build, parsed.backend, parsed.content);
            assert_eq!(found, (*prefix, *module, *build, *backend, *content), "{name}");
        }
    }

    #[test]
    fn architectures() {
        let name = FileName::parse("module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt.gz");
        assert_eq!(name.architecture, Some("sm_9.0a"));
        assert_eq!(name.number, Some(1));
        assert!(name.gzip);
    }

    #[test]
    fn odd_names_do_not_panic() {
        for name in [
            "",
            ".",
            ".gz",
            "module_",
            "module_.txt",
            ".txt",
            "é.after_x.txt",
            "_gpu_after_optimizations.txt",
            ".before_.after_.txt",
        ] {
            FileName::parse(name);
        }
    }
}
