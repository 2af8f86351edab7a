"""Runs one program in a process of its own and keeps what testdata needs of its dump.

In: a `Program`, the python of its compiler, a target folder. Out: the folder with the kept files,
free of machine paths, and the totals that XLA's own files state.
"""

import base64
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# The number after `.cl_` in file names: which compiler really ran.
BUILDS = {
    "0.0.52": "1014260217",
    "0.0.42.1": "933746096",
    "sparsecore": "933746096",
    "0.0.30": "831091709",
}

# Stages and side files kept of every dump, by the end of the name.
USUAL = (
    "before_optimizations.txt",
    "after_optimizations.txt",
    "after_optimizations-buffer-assignment.txt",
    "after_optimizations-live-range.txt",
    "after_optimizations-memory-usage-report.txt",
    "target_arguments.txt",
)

# A machine path: whatever stands before the installed packages or before this folder.
MACHINE_PATHS = (
    (re.compile(rb"/[\w.+/-]*?/(?=site-packages/)"), b""),
    (re.compile(rb"/[\w.+/-]*?/testdata/generate/"), b""),
    (re.compile(rb"/[\w.+/-]*?/lib/(?=python3\.\d+/)"), b""),
)
FORBIDDEN = re.compile(rb"/(?:work|root|home|Users)/|/[\w.+/-]+/site-packages/")
BASE64 = re.compile(rb"[A-Za-z0-9+/]{64,}={0,2}")


def environment(program, dump):
    flags = f"--xla_dump_to={dump} --xla_dump_hlo_as_text {program.flags}".strip()
    # A parent that imported jax has TPU_LIBRARY_PATH set, to its own compiler.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TPU_", "JAX_", "XLA_"))}
    return inherited | {
        "XLA_FLAGS": flags,
        "TPU_SKIP_MDS_QUERY": "1",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
        "JAX_PLATFORMS": "cpu" if program.topology is None or program.card else "",
        "JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX": r"^.*/(?=site-packages/)|^.*/generate/",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


# --xla_dump_include_timestamp: one fixed time, so that a second run gives the same names.
FILE_TIME, FIXED_TIME = re.compile(r"^\d{16}(?=\.module_)"), "1767225600000000"
PASS_FILE = re.compile(r"\.\d{4}\.[\w-]+\.(after|before)_.*\.txt$")
PASSES_KEPT = 3


def kept_files(program, dump):
    """The files of the dump that testdata keeps, relative to it."""
    names = [str(p.relative_to(dump)) for p in sorted(dump.rglob("*")) if p.is_file()]
    passes = [name for name in names if PASS_FILE.search(name)][:PASSES_KEPT]
    return [name for name in names if name in passes or wanted(program, name)]


def wanted(program, name):
    if "*" in program.keep:
        return True
    if program.only:
        return any(name.endswith(f".{end}") for end in program.only)
    if PASS_FILE.search(name):
        return False
    ends = USUAL + tuple(program.keep)
    if program.topology is None:
        ends += tuple(f"cpu_{end}" for end in USUAL)
    if program.card:
        ends += ("gpu_target_config.pbtxt",)
        if any(name.endswith(f"_gpu_{end}") for end in USUAL):
            return True
    return any(name.endswith(f".{end}") for end in ends)


def cleaned(data):
    for pattern, replacement in MACHINE_PATHS:
        data = pattern.sub(replacement, data)
    return data


def machine_paths(data):
    """Machine paths left in a file, also inside base64 (the bytecode of kernels)."""
    found = FORBIDDEN.findall(data)
    for blob in BASE64.findall(data):
        try:
            found += FORBIDDEN.findall(base64.b64decode(blob + b"=" * (-len(blob) % 4)))
        except ValueError:
            continue
    return found


def compile_into(program, python, script, target):
    """Compiles `program` with `python script`, lays the kept files into `target`."""
    with tempfile.TemporaryDirectory() as scratch:
        dump, log = pathlib.Path(scratch, "dump"), pathlib.Path(scratch, "compile.log")
        dump.mkdir()
        for run in range(2 if program.cached else 1):
            if run == 1:  # only the second process counts: it finds the program in the cache
                shutil.rmtree(dump)
                dump.mkdir()
            env = environment(program, dump)
            if program.cached:
                env |= {
                    "JAX_COMPILATION_CACHE_DIR": f"{scratch}/cache",
                    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
                }
            done = subprocess.run(
                [python, script, program.name, log],
                cwd=HERE, env=env, capture_output=True, timeout=900, check=False,
            )
        if not log.exists():
            if not any(dump.rglob("*after_optimizations.txt")):
                raise RuntimeError(f"{program.name}: {done.stderr.decode()[-2000:]}")
            # The compiler died after the stages that the memory model reads.
            log.write_text(f"# {program.name}: the compiler ended with code {done.returncode}\n")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name in kept_files(program, dump):
            data = cleaned((dump / name).read_bytes().replace(str(dump).encode(), b"dump"))
            place = target / FILE_TIME.sub(FIXED_TIME, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        text = cleaned(log.read_bytes().replace(str(dump).encode(), b"dump"))
        (target / "compile.log").write_bytes(text)
    builds = {b for p in target.iterdir() for b in re.findall(r"\.cl_(\d+)", p.name)}
    if builds - {BUILDS.get(program.compiler)}:
        raise RuntimeError(f"{program.name}: compiled by builds {builds}, not {program.compiler}")
    left = {str(p): machine_paths(p.read_bytes()) for p in target.rglob("*") if p.is_file()}
    left = {name: paths for name, paths in left.items() if paths}
    if left:
        raise RuntimeError(f"machine paths left: {left}")


ALLOCATION = re.compile(r"^allocation \d+: size (\d+)(.*)$", re.M)
COLOUR = re.compile(r", color (\d+)")


def hbm_totals(folder):
    """[(module prefix, HBM bytes of all allocations, without thread-local ones)] from XLA's files."""
    totals = []
    for path in sorted(pathlib.Path(folder).glob("*optimizations-buffer-assignment.txt*")):
        total = required = 0
        text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
        for size, rest in ALLOCATION.findall(text):
            colour = COLOUR.search(rest)
            if colour is not None and int(colour[1]) != 0:
                continue
            total += int(size)
            required += 0 if "thread-local" in rest else int(size)
        totals.append((re.split(r"\.(?:cpu_|sm_[^_]*_gpu_)?after_", path.name)[0], total, required))
    return totals
