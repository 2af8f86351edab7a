//! `dump::open` on directories, archives and streams made here.

#![allow(clippy::unwrap_used)] // a helper of a test fails by panicking

use flate2::Compression;
use flate2::write::GzEncoder;
use hlolint::dump::{self, Dump, Limits, MissingKind, Options, SideKind, Stage};
use hlolint::target::Backend;
use hlolint::target::tpu::Chip;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const TPU: &str = "module_0000.jit_f.cl_933746096";
const V5E: &str = "tpu_topology_args {\n  version: TPU_VERSION_VIPERFISH\n  variant: \"lite\"\n}\n";

fn text(name: &str) -> String {
    format!(
        "HloModule {name}, is_scheduled=true\n\nENTRY main {{\n  ROOT p = f32[] parameter(0)\n}}\n"
    )
}

/// A directory with files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

fn open(path: impl AsRef<Path>) -> Dump {
    open_all(&[path.as_ref().to_path_buf()])
}

fn open_all(paths: &[PathBuf]) -> Dump {
    dump::open(paths, &Options::default())
}

/// Name, stage and whether there is a text before optimisation, for every program.
fn outline(dump: &Dump) -> Vec<(&str, Stage, bool)> {
    dump.programs
        .iter()
        .map(|program| {
            (program.name.as_str(), program.stage, program.before_optimizations.is_some())
        })
        .collect()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, content) in files {
        writer.start_file(*path, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn stages_of_one_compile_are_one_program() {
    let f = text("jit_f");
    let table: &[(&[&str], Stage, bool)] = &[
        (
            &["after_optimizations.txt", "before_optimizations.txt", "after_codegen.txt"],
            Stage::AfterOptimizations,
            true,
        ),
        (
            &["after_optimizations_after_buffer_assignment.txt", "after_codegen.txt"],
            Stage::AfterBufferAssignment,
            false,
        ),
        (
            &["after_optimizations_before_buffer_assignment.txt", "after_codegen.txt"],
            Stage::AfterCodegen,
            false,
        ),
        (
            &["after_optimizations_before_buffer_assignment.txt", "before_optimizations.txt"],
            Stage::BeforeBufferAssignment,
            true,
        ),
        (&["before_optimizations.txt"], Stage::BeforeOptimizations, false),
        (
            &["after_optimizations.txt", "0001.pipe.after_a.before_b.txt"],
            Stage::AfterOptimizations,
            false,
        ),
    ];
    for (suffixes, stage, before) in table {
        let names: Vec<String> = suffixes.iter().map(|suffix| format!("{TPU}.{suffix}")).collect();
        let files: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), f.as_str())).collect();
        let directory = directory(&files);
        let dump = open(directory.path());
        assert_eq!(outline(&dump), [("jit_f", *stage, *before)], "{suffixes:?}");
        assert!(dump.diagnostics.is_empty());
    }
}

#[test]
fn halves_of_one_compile_under_two_numbers_are_one_program() {
    let file = |number: u64, build: u64, rest: &str| {
        format!("module_{number:04}.jit_f.cl_{build}.{rest}.txt")
    };
    let (before, after, settings) =
        ("before_optimizations", "after_optimizations", "target_arguments");
    let f = text("jit_f");
    let outline_of = |names: &[String]| {
        let content = |name: &String| if name.contains(settings) { V5E } else { f.as_str() };
        let files: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), content(name))).collect();
        let directory = directory(&files);
        let dump = open(directory.path());
        dump.programs
            .iter()
            .map(|p| (p.stage, p.before_optimizations.is_some(), p.chip))
            .collect::<Vec<_>>()
    };
    let joined: Vec<_> = vec![(Stage::AfterOptimizations, true, Some(Chip::V5e))];
    let first = [file(0, 7, before), file(0, 7, settings)];
    let with = |more: &[String]| outline_of(&[&first, more].concat());
    assert_eq!(with(&[file(3, 7, after)]), joined);
    // Another build, an earlier number, or two candidates: nobody knows.
    assert_ne!(with(&[file(3, 8, after)]), joined);
    assert_eq!(with(&[file(3, 7, after), file(4, 7, after)]).len(), 2);
    let late = [file(5, 7, before), file(3, 7, after)];
    assert_eq!(
        outline_of(&late),
        [(Stage::AfterOptimizations, false, None), (Stage::BeforeOptimizations, false, None)]
    );
}

#[test]
fn backends_and_chips() {
    let directory = directory(&[
        (&format!("tpu/{TPU}.after_optimizations.txt"), &text("jit_f")),
        (&format!("tpu/{TPU}.target_arguments.txt"), V5E),
        ("gpu/module_0001.jit_g.sm_9.0a_gpu_after_optimizations.txt", &text("jit_g")),
        ("gpu/module_0001.jit_g.gpu_target_config.pbtxt", ""),
        ("cpu/module_0000.jit_h.cpu_after_optimizations.txt", &text("jit_h")),
        ("hit/module_0002.jit_i.after_optimizations.txt", &text("jit_i")),
        ("topology/module_0000.jit_k.cl_5.after_codegen.txt", &text("jit_k")),
        (
            "topology/module_0000.jit_k.cl_5/topology.textproto",
            "platform_version: \"TFRT TPU v6 lite\\nBuilt on\"\n",
        ),
    ]);
    let dump = open(directory.path());
    let found: Vec<_> = dump
        .programs
        .iter()
        .map(|program| (program.name.as_str(), program.backend, program.chip, program.build))
        .collect();
    assert_eq!(
        found,
        [
            ("jit_h", Some(Backend::Cpu), None, None),
            ("jit_g", Some(Backend::Gpu), None, None),
            ("jit_i", None, None, None),
            ("jit_k", Some(Backend::Tpu), Some(Chip::V6e), Some(5)),
            ("jit_f", Some(Backend::Tpu), Some(Chip::V5e), Some(933746096)),
        ]
    );
    assert_eq!(dump.programs[1].architecture.as_deref(), Some("sm_9.0a"));
}

#[test]
fn texts_are_read_however_they_are_packed() {
    let f = text("jit_f");
    let path = format!("dump/{TPU}.after_optimizations.txt");
    let before = format!("dump/{TPU}.before_optimizations.txt.gz");
    let packed = gzip(f.as_bytes());
    let other = format!("dump/{TPU}.ir.ll");
    let files: &[(&str, &[u8])] =
        &[(&path, f.as_bytes()), (&before, &packed), (&other, b"not wanted")];
    let directory = TempDir::new().unwrap();
    let archives = [
        ("a.tar", tar(files)),
        ("a.tar.gz", gzip(&tar(files))),
        ("a.tgz", gzip(&tar(files))),
        ("a.zip", zip(files)),
    ];
    for (name, bytes) in archives {
        let archive = directory.path().join(name);
        fs::write(&archive, bytes).unwrap();
        let dump = open(&archive);
        assert_eq!(outline(&dump), [("jit_f", Stage::AfterOptimizations, true)], "{name}");
        assert!(dump.diagnostics.is_empty(), "{name}: {:?}", dump.diagnostics);
        let program = &dump.programs[0];
        assert_eq!(program.text.text().unwrap(), f);
        assert_eq!(program.text.label(), format!("{}!{path}", archive.display()));
        assert_eq!(program.before_optimizations.as_ref().unwrap().bytes(), f.as_bytes());
    }
    let single = directory.path().join("my.hlo.txt.gz");
    fs::write(&single, &packed).unwrap();
    let dump = open(&single);
    assert_eq!(outline(&dump), [("jit_f", Stage::Unnamed, false)]);
    assert_eq!(dump.programs[0].text.bytes(), f.as_bytes());
}

#[test]
fn equal_programs_are_told_once() {
    let f = text("jit_f");
    let g = text("jit_g");
    let directory = directory(&[
        ("host0/module_0000.jit_f.cl_1.after_optimizations.txt", &f),
        ("host0/module_0001.jit_g.cl_1.after_optimizations.txt", &g),
        ("host1/module_0000.jit_f.cl_1.after_optimizations.txt", &f),
        ("host1/module_0000.jit_f.cl_1.after_optimizations-buffer-assignment.txt", "x"),
        ("host2/module_0007.jit_f.cl_1.after_optimizations.txt", &f),
        // Another release, another chip, another text before: other programs.
        ("host3/module_0000.jit_f.cl_2.after_optimizations.txt", &f),
        ("host4/module_0000.jit_f.cl_1.after_optimizations.txt", &f),
        ("host4/module_0000.jit_f.cl_1.target_arguments.txt", V5E),
        ("host5/module_0000.jit_f.cl_1.after_optimizations.txt", &f),
        ("host5/module_0000.jit_f.cl_1.before_optimizations.txt", &g),
    ]);
    let dump = open(directory.path());
    let found: Vec<_> = dump
        .programs
        .iter()
        .map(|program| (program.prefix.rsplit('/').nth(1).unwrap(), program.duplicates.len()))
        .collect();
    assert_eq!(found, [("host1", 2), ("host0", 0), ("host3", 0), ("host4", 0), ("host5", 0)]);
    assert!(dump.programs[0].side(SideKind::BufferAssignment).is_some());
}

#[test]
fn what_is_missing_is_said() {
    let f = text("jit_f");
    let table: &[(&[(&str, &str)], MissingKind)] = &[
        (&[], MissingKind::Empty),
        (&[("notes.md", "x"), ("a.txt", "no module")], MissingKind::NotADump),
        (&[("module_0000.jit_f.cl_1.after_optimizations.hlo.pb", "x")], MissingKind::OnlyProtos),
        (&[("module_0000.jit_f.cl_1.0001.p.after_a.before_b.txt", &f)], MissingKind::OnlyPasses),
        (&[("module_0000.jit_f.cl_1.target_arguments.txt", V5E)], MissingKind::NoTexts),
        (&[("dump.tar.gz", "x")], MissingKind::OnlyArchives),
        (&[("module_0000.jit_f.cl_1.before_optimizations.txt", &f)], MissingKind::NotOptimised),
    ];
    for (files, kind) in table {
        let directory = directory(files);
        let dump = open(directory.path());
        assert_eq!(dump.missing.len(), 1, "{files:?}: {:?}", dump.missing);
        assert_eq!(dump.missing[0].kind, *kind);
        assert!(!dump.missing[0].help().is_empty());
    }
    let help = open(directory(&[]).path()).missing[0].help();
    assert!(help.contains("--xla_dump_hlo_as_text") && help.contains("compilation cache"));
}

#[test]
fn a_named_text_takes_its_siblings() {
    let f = text("jit_f");
    let pass = format!("{TPU}.0001.p.after_a.before_b.txt");
    let directory = directory(&[
        (&format!("{TPU}.after_optimizations.txt"), &f),
        (&format!("{TPU}.after_codegen.txt"), &text("codegen")),
        (&format!("{TPU}.before_optimizations.txt"), &text("before")),
        (&format!("{TPU}.target_arguments.txt"), V5E),
        (&format!("{TPU}.after_optimizations-live-range.txt"), "x"),
        (&pass, &text("pass")),
        ("module_0001.jit_g.cl_933746096.after_optimizations.txt", &text("jit_g")),
    ]);
    let path = |name: &str| directory.path().join(name);

    let dump = open(path(&format!("{TPU}.after_codegen.txt")));
    assert_eq!(outline(&dump), [("jit_f", Stage::AfterCodegen, true)]);
    assert_eq!(dump.programs[0].chip, Some(Chip::V5e));

    let dump = open(path(&pass));
    assert_eq!(outline(&dump), [("jit_f", Stage::Pass, true)]);
    assert_eq!(dump.programs[0].text.text().unwrap(), text("pass"));
    assert!(dump.programs[0].side(SideKind::LiveRange).is_none());

    // As a shell expands `DIR/*`.
    let mut all: Vec<PathBuf> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    let dump = open_all(&all);
    assert_eq!(
        outline(&dump),
        [("jit_f", Stage::AfterOptimizations, true), ("jit_g", Stage::AfterOptimizations, false)]
    );
    assert!(dump.diagnostics.is_empty(), "{:?}", dump.diagnostics);
}

#[test]
fn unreadable_files_are_reported_and_the_rest_read() {
    let f = text("jit_f");
    let directory = directory(&[
        (&format!("{TPU}.after_optimizations.txt"), ""),
        (&format!("{TPU}.after_codegen.txt"), &f),
        ("module_0001.jit_g.cl_1.after_optimizations.txt", &text("jit_g")),
        ("broken.zip", "PK\u{3}\u{4}garbage"),
    ]);
    let mut cut = gzip(f.as_bytes());
    cut.truncate(cut.len() - 12);
    fs::write(directory.path().join("cut.after_optimizations.txt.gz"), cut).unwrap();
    let dump = open_all(&[
        directory.path().to_path_buf(),
        directory.path().join("broken.zip"),
        directory.path().join("nothing.txt"),
    ]);
    assert_eq!(
        outline(&dump),
        [("jit_f", Stage::AfterCodegen, false), ("jit_g", Stage::AfterOptimizations, false)]
    );
    let mut paths: Vec<_> =
        dump.diagnostics.iter().map(|found| found.path.rsplit('/').next().unwrap()).collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            "broken.zip",
            "cut.after_optimizations.txt.gz",
            "module_0000.jit_f.cl_933746096.after_optimizations.txt",
            "nothing.txt",
        ]
    );
    assert!(dump.diagnostics.iter().all(|found| !found.remedy.is_empty()));
}

#[test]
fn limits_hold() {
    let long = format!("{}{}", text("jit_f"), " ".repeat(100_000));
    let name = format!("{TPU}.after_optimizations.txt");
    let other = "module_0001.jit_g.cl_1.after_optimizations.txt";
    let small = text("jit_g");
    let files: &[(&str, &[u8])] = &[(&name, long.as_bytes()), (other, small.as_bytes())];
    let directory = directory(&[("d/e/f/g.hlo", &text("deep"))]);
    let options = Options {
        limits: Limits { text_bytes: 10_000, depth: 2, ..Limits::default() },
        ..Options::default()
    };
    for (file, bytes) in [("bomb.zip", zip(files)), ("bomb.tgz", gzip(&tar(files)))] {
        let path = directory.path().join(file);
        fs::write(&path, bytes).unwrap();
        let dump = dump::open(&[path], &options);
        assert_eq!(outline(&dump), [("jit_g", Stage::AfterOptimizations, false)], "{file}");
        assert_eq!(dump.diagnostics.len(), 1, "{file}");
        assert!(dump.diagnostics[0].reason.contains("more than 10000 bytes"));
    }
    let dump = dump::open(&[directory.path().join("d")], &options);
    assert!(dump.programs.is_empty());

    let few = Options {
        limits: Limits { stream_bytes: 1000, ..Limits::default() },
        ..Options::default()
    };
    let dump = dump::open(&[directory.path().join("bomb.tgz")], &few);
    assert!(dump.programs.is_empty() && !dump.diagnostics.is_empty());
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_ends() {
    let directory = directory(&[(&format!("a/{TPU}.after_optimizations.txt"), &text("jit_f"))]);
    std::os::unix::fs::symlink(directory.path(), directory.path().join("a/up")).unwrap();
    let dump = open(directory.path());
    assert_eq!(outline(&dump), [("jit_f", Stage::AfterOptimizations, false)]);
    assert_eq!(dump.diagnostics.len(), 1);
}

#[test]
fn a_named_text_learns_its_chip_from_the_directory_of_its_compile() {
    let name = format!("{TPU}.after_codegen.txt");
    let directory = directory(&[
        (&name, &text("jit_f")),
        (&format!("{TPU}/topology.textproto"), "platform_version: \"TFRT TPU v4\\nBuilt on\"\n"),
        ("module_0000.jit_g.cl_1/topology.textproto", "x"),
    ]);
    let dump = open(directory.path().join(&name));
    assert_eq!(dump.programs[0].chip, Some(Chip::V4));
}

#[cfg(unix)]
#[test]
fn pipes_are_read_when_they_are_named() {
    let directory = directory(&[("own.hlo", &text("jit_own"))]);
    let pipe = directory.path().join("module_0001.jit_f.cl_1.after_optimizations.txt");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // In a directory it is passed over.
    assert_eq!(outline(&open(directory.path())), [("jit_own", Stage::Unnamed, false)]);
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, gzip(text("jit_piped").as_bytes())).unwrap()
    });
    let dump = open(&pipe);
    writer.join().unwrap();
    assert_eq!(outline(&dump), [("jit_f", Stage::AfterOptimizations, false)]);
    assert_eq!(dump.programs[0].text.text().unwrap(), text("jit_piped"));
}

#[test]
fn a_filter_picks_modules() {
    let directory = directory(&[
        ("module_0000.jit_train_step.cl_1.after_optimizations.txt", &text("jit_train_step")),
        ("module_0001.jit_eval.cl_1.after_optimizations.txt", &text("jit_eval")),
        ("own.hlo", &text("jit_train_own")),
    ]);
    let of = |pattern: &str| {
        let mut set = globset::GlobSetBuilder::new();
        set.add(globset::Glob::new(pattern).unwrap());
        Options { modules: Some(set.build().unwrap()), ..Options::default() }
    };
    let paths = [directory.path().to_path_buf()];
    let dump = dump::open(&paths, &of("jit_train*"));
    let names: Vec<_> = dump.programs.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names, ["jit_train_step", "jit_train_own"]);
    let dump = dump::open(&paths, &of("nothing"));
    assert_eq!(dump.missing[0].kind, MissingKind::FilteredOut);
}

#[test]
fn memory_that_ran_out_leaves_a_sign() {
    let f = text("jit_f");
    let table: &[(&[&str], bool)] = &[
        (&["oom_intermediate_module.txt"], true),
        (&["oom_intermediate_module.txt", "after_codegen.txt"], false),
        (&["oom_top_memory_consuming_instructions", "after_codegen.txt"], true),
        (&["after_codegen.txt"], false),
    ];
    for (suffixes, expected) in table {
        let mut names = vec![format!("{TPU}.after_optimizations.txt")];
        names.extend(suffixes.iter().map(|suffix| format!("{TPU}.{suffix}")));
        let files: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), f.as_str())).collect();
        let directory = directory(&files);
        let dump = open(directory.path());
        assert_eq!(dump.programs[0].ran_out_of_memory, *expected, "{suffixes:?}");
    }
}

#[test]
fn single_texts_for_readers_of_texts() {
    let f = text("jit_f");
    let pass = format!("{TPU}.0001.p.after_a.before_b.txt");
    let directory = directory(&[
        (&format!("{TPU}.after_optimizations.txt"), &f),
        (&format!("{TPU}.target_arguments.txt"), V5E),
        (&pass, &f),
        ("odd", "not HLO"),
    ]);
    let paths = [directory.path().to_path_buf(), directory.path().join("odd")];
    let texts = dump::texts(&paths, &Options::default());
    let names: Vec<_> =
        texts.files.iter().map(|file| file.label().rsplit('/').next().unwrap()).collect();
    assert_eq!(names, [pass.as_str(), &format!("{TPU}.after_optimizations.txt"), "odd"]);
}

/// The backend that a text betrays is the one that its file's name tells.
fn check_backends(directory: &Path) -> usize {
    let dump = open(directory);
    let scheduled = dump.programs.iter().filter(|program| {
        !matches!(program.stage, Stage::BeforeOptimizations | Stage::Pass | Stage::Unnamed)
    });
    let mut told = 0;
    for program in scheduled {
        let parsed = hlolint::text::parse(program.text.text().unwrap()).unwrap();
        let found = dump::backend_of(&parsed.module);
        if program.backend.is_some() {
            assert_eq!(found, program.backend, "{}", program.text.label());
            told += 1;
        } else {
            // Only a hit in the compilation cache of XLA:CPU has a name without a backend.
            assert_eq!(found, Some(Backend::Cpu), "{}", program.text.label());
        }
    }
    told
}

#[test]
fn backends_are_told_from_texts() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/dumps");
    assert!(check_backends(&testdata) >= 12);
    let lone = open(testdata.join("cpu_cache_hit"));
    assert_eq!(lone.programs[0].backend, None);
}

/// `HLOLINT_CORPORA=DIR[:DIR...] cargo test --test dump -- --ignored --nocapture`
#[test]
#[ignore = "needs folders of dumps: HLOLINT_CORPORA"]
fn backends_are_told_from_texts_of_corpora() {
    let Some(folders) = std::env::var_os("HLOLINT_CORPORA") else {
        println!("SKIPPED: HLOLINT_CORPORA names no folders");
        return;
    };
    for folder in std::env::split_paths(&folders) {
        println!("{}: {} backends told", folder.display(), check_backends(&folder));
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None,
        cases: 64,
        ..Default::default()
    })]

    /// Archives that are cut off or changed give what can be read, or say what is wrong.
    #[test]
    fn damaged_archives_never_panic(
        pick in 0..4_usize,
        cut in proptest::prelude::any::<proptest::sample::Index>(),
        at in proptest::prelude::any::<proptest::sample::Index>(),
        byte in proptest::prelude::any::<u8>(),
    ) {
        let f = text("jit_f");
        let name = format!("{TPU}.after_optimizations.txt");
        let packed = gzip(f.as_bytes());
        let files: &[(&str, &[u8])] = &[(&name, f.as_bytes()), ("b/own.hlo.gz", &packed)];
        let (file, mut bytes) = match pick {
            0 => ("a.tar", tar(files)),
            1 => ("a.tgz", gzip(&tar(files))),
            2 => ("a.zip", zip(files)),
            _ => ("a.hlo.gz", packed.clone()),
        };
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len()) + 1);
        let directory = TempDir::new().unwrap();
        let path = directory.path().join(file);
        fs::write(&path, bytes).unwrap();
        let dump = open(&path);
        let said = dump.programs.len() + dump.diagnostics.len() + dump.missing.len();
        proptest::prop_assert!(said > 0);
    }
}
