"""What a compiled JAX program needs in memory: runs the hlolint binary and reads what it says.

    report = hlolint.check(jax.jit(step).lower(*arguments))
    print(report.modules[0].required_bytes, [finding.message for finding in report.findings])

Needs neither JAX nor an accelerator; a lowered function is compiled by the JAX that lowered it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, Union

from ._binary import find_binary
from ._report import Diagnostic, Finding, Module, Remedy, Report, Source

__all__ = [
    "Compiled",
    "Diagnostic",
    "Finding",
    "HlolintError",
    "Lowered",
    "Module",
    "Remedy",
    "Report",
    "Source",
    "check",
    "find_binary",
]


class HlolintError(RuntimeError):
    """The binary said nothing that could be read: wrong options, a wrong configuration."""


class Compiled(Protocol):
    """A compiled program, as `jax.stages.Compiled`."""

    def as_text(self) -> str | None: ...


class Lowered(Protocol):
    """A program before it is compiled, as `jax.stages.Lowered`."""

    def compile(self, compiler_options: Any = None) -> Any: ...


Program = Union[str, "os.PathLike[str]", Compiled, Lowered]


def check(program: Program, options: Sequence[str] = ()) -> Report:
    """Checks a program.

    `program` is the path of a dump directory, an archive or a text; the text itself; a
    `jax.stages.Compiled`; or a `jax.stages.Lowered`, which is compiled here: where the compile fails
    for want of memory, the report says why and `compile_error` is the exception.

    `options` are options of `hlolint check`, as on the command line: `["--max-total", "14GiB"]`.

    Raises `HlolintError` where the binary could not be run with them, and the exception of a compile
    that left nothing to report on.
    """
    if isinstance(program, os.PathLike):
        return _run([os.fspath(program)], options)
    if isinstance(program, str):
        is_text = "\n" in program or program.lstrip().startswith("HloModule")
        return _run(["-"], options, program) if is_text else _run([program], options)
    compile_it = getattr(program, "compile", None)
    if callable(compile_it):
        return _check_lowered(compile_it, options)
    return _check_compiled(program, options)


def _check_lowered(compile_it: Any, options: Sequence[str]) -> Report:
    error: Exception | None = None
    compiled: Any = None
    with tempfile.TemporaryDirectory(prefix="hlolint-") as folder:
        try:
            compiled = compile_it(
                compiler_options={"xla_dump_to": folder, "xla_dump_hlo_as_text": True}
            )
        except Exception as failure:  # whatever the compiler raised: its dump is what is asked for
            error = failure
        if any(Path(folder).rglob("*.txt")):
            report = _run([folder], options)
            report.compile_error = error
            return report
    if error is not None:
        raise error
    # A hit in JAX's compilation cache dumps nothing.
    return _check_compiled(compiled, options)


def _check_compiled(compiled: Any, options: Sequence[str]) -> Report:
    as_text = getattr(compiled, "as_text", None)
    text = as_text() if callable(as_text) else None
    if not isinstance(text, str):
        raise TypeError(f"a path, a text, a Compiled or a Lowered, not {type(compiled).__name__}")
    kind = _device_kind(compiled)
    names_chip = any(option.split("=")[0] in ("--chip", "--hbm") for option in options)
    chip = ["--chip", kind] if kind is not None and not names_chip else []
    return _run(["-"], [*chip, *options], text)


def _device_kind(compiled: Any) -> str | None:
    """The TPU that a program was compiled for: its text does not name it."""
    for sharding in _leaves(getattr(compiled, "input_shardings", None)):
        for device in getattr(sharding, "device_set", ()):
            kind = getattr(device, "device_kind", None)
            return kind if isinstance(kind, str) and "TPU" in kind else None
    return None


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        for branch in tree:
            yield from _leaves(branch)
    elif tree is not None:
        yield tree


def _run(inputs: list[str], options: Sequence[str], text: str | None = None) -> Report:
    command = [str(find_binary()), "check", "--format", "json", *options, "--", *inputs]
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8")
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise HlolintError(done.stderr.strip() or f"exit code {done.returncode}") from None
    return Report.of(said, done.returncode, done.stderr)
