"""Makes all of testdata that XLA writes: `python3 generate.py [NAME...]`.

Needs only Python and a package index: it makes one virtual environment per compiler release from
the requirements files beside it, in .venvs (or where HLOLINT_VENVS says), compiles each program
in a process of its own without any TPU, and states in ../README.md what came out.
"""

import concurrent.futures
import gzip
import importlib
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTDATA = HERE.parent
VENVS = pathlib.Path(os.environ.get("HLOLINT_VENVS", HERE / ".venvs"))
REQUIREMENTS = {
    "0.0.52": "requirements.txt",
    "0.0.42.1": "requirements-0.0.42.1.txt",
    "0.0.30": "requirements-0.0.30.txt",
    "sparsecore": "requirements-sparsecore.txt",
    "cuda12": "requirements-cuda12.txt",
}
JOBS = 2


def python_of(compiler):
    """The python of the environment that holds this libtpu release; made when it is missing."""
    python = VENVS / compiler / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", VENVS / compiler], check=True)
        wanted = HERE / REQUIREMENTS[compiler]
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", wanted], check=True)
    return python


def rerun_inside():
    """The registries import jax: go on inside the newest environment."""
    python = python_of("0.0.52")
    if pathlib.Path(sys.prefix) != VENVS / "0.0.52":
        os.execv(python, [str(python), *sys.argv])


def make(script, programs, folder):
    """Compiles the programs of one script, two at a time; returns the names that failed to run."""
    from dumpfiles import compile_into

    for program in programs:
        python_of(program.compiler)
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        jobs = {
            pool.submit(compile_into, p, python_of(p.compiler), script, folder / p.name): p.name
            for p in programs
        }
        for job in concurrent.futures.as_completed(jobs):
            name = jobs[job]
            try:
                job.result()
                print(f"{folder.name}/{name}", flush=True)
            except Exception as error:
                failed[name] = error
                print(f"{folder.name}/{name} FAILED: {error}", flush=True)
    return failed


def compress(folders):
    """Gzips each file of the folders but the log, without a time in the header."""
    for path in (p for folder in folders for p in folder.glob("module_*.txt")):
        with open(f"{path}.gz", "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as packed:
            packed.write(path.read_bytes())
        path.unlink()


def outcome(folder):
    text = (folder / "compile.log").read_text()
    if not text.startswith("#"):
        return "compiled"
    if "CompileTimeScopedVmemOom" in text:
        return "scoped VMEM OOM"
    if "RESOURCE_EXHAUSTED" in text:
        return "HBM OOM"
    return "compiler crashed" if "the compiler ended" in text else "failed"


def table(programs, folder):
    """A markdown table of the programs with XLA's own totals."""
    from dumpfiles import hbm_totals

    rows = [
        "| folder | program | chip, devices | libtpu | outcome | HBM bytes (XLA) | what it is for |",
        "| --- | --- | --- | --- | --- | ---: | --- |",
    ]
    for program in programs.values():
        place = folder / program.name
        if not place.exists():
            continue
        devices = 1
        for size in program.mesh[0]:
            devices *= size
        chip = "CPU" if program.topology is None else program.card or program.topology.split(":")[0]
        if program.topology is not None or devices > 1:
            chip = f"{chip}, {devices}"
        compiler = "–" if program.topology is None or program.card else program.compiler
        totals = hbm_totals(place)
        figures = ", ".join(
            f"{total}" if total == required else f"{total} ({required} without thread-local)"
            for _, total, required in totals
        ) or "not written"
        rows.append(
            f"| `{program.name}` | {program.what} | {chip} | {compiler} | {outcome(place)} "
            f"| {figures} | {program.purpose} |"
        )
    return "\n".join(rows)


def write_tables(tables):
    """Puts each table between its markers in the README of testdata."""
    readme = TESTDATA / "README.md"
    text = readme.read_text()
    for name, rows in tables.items():
        block = f"<!-- {name} -->\n{rows}\n<!-- end of {name} -->"
        pattern = re.compile(rf"<!-- {name} -->.*?<!-- end of {name} -->", re.S)
        text = pattern.sub(block.replace("\\", r"\\"), text)
    readme.write_text(text)


def main():
    rerun_inside()
    sys.path.insert(0, str(HERE))
    import baseline
    import gpu_cpu
    import large
    import models
    only, failed, tables = set(sys.argv[1:]), {}, {}
    pairs = [importlib.import_module(path.stem) for path in sorted(HERE.glob("pairs*.py"))]
    for name, modules in (
        ("dumps", [models, baseline]), ("gpu-cpu", [gpu_cpu]), ("pairs", pairs), ("large", [large]),
    ):
        folder = TESTDATA / ("dumps" if name == "gpu-cpu" else name)
        programs = {}
        for module in modules:
            chosen = [p for p in module.program.values() if not only or p.name in only]
            failed |= make(f"{module.__name__}.py", chosen, folder)
            programs |= module.program
            if module is large:
                compress(folder / p.name for p in chosen)
        tables[name] = table(programs, folder)
    write_tables(tables)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
