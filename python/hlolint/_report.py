"""The JSON of `hlolint check` as dataclasses. `Report.raw` has what these leave out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Source:
    """A line of the user's program."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Remedy:
    """One thing to do."""

    action: str
    #: HBM bytes that the program then needs; None where that cannot be told.
    required_bytes_after: int | None
    #: Whether it needs at most that.
    at_most: bool


@dataclass(frozen=True)
class Finding:
    """What a rule found."""

    rule: str
    #: "error", "warn" or "note".
    level: str
    message: str
    help: str
    module: str
    #: What is held or wasted.
    bytes: int
    #: What the first remedy with a figure saves.
    saving_bytes: int | None
    instruction: str | None
    op_name: str | None
    source: Source | None
    remedies: list[Remedy]
    #: The same when a program is compiled anew.
    fingerprint: str

    @classmethod
    def of(cls, said: dict[str, Any]) -> Finding:
        own = {name: said[name] for name in _NAMES_OF_FINDING}
        remedies = [
            Remedy(one["action"], one["required_bytes_after"], one["at_most"])
            for one in said["remedies"]
        ]
        place = said["source"]
        source = Source(place["file"], place["line"], place.get("function", "")) if place else None
        return cls(**own, remedies=remedies, source=source)


_NAMES_OF_FINDING = (
    "rule", "level", "message", "help", "module", "bytes", "saving_bytes", "instruction", "op_name",
    "fingerprint",
)  # fmt: skip


@dataclass(frozen=True)
class Module:
    """What a program needs on each device."""

    name: str
    file: str
    chip: str | None
    #: "fits", "does-not-fit", "fits-at-least", "no-limit" or "unknown".
    verdict: str
    #: "exact", "estimate" or "lower-bound".
    figures: str
    #: What XLA compares with the capacity and quotes in its error.
    required_bytes: int
    #: What there is; None where the chip is not known.
    available_bytes: int | None
    #: What is alive at the peak; None without a schedule.
    peak_live_bytes: int | None

    @classmethod
    def of(cls, said: dict[str, Any]) -> Module:
        own = {name: said[name] for name in ("name", "file", "chip", "verdict", "figures")}
        hbm = {
            name: said["hbm"][name]
            for name in ("required_bytes", "available_bytes", "peak_live_bytes")
        }
        return cls(**own, **hbm)


@dataclass(frozen=True)
class Diagnostic:
    """Something about an input: it could not be read, or something is missing."""

    failed: bool
    file: str
    message: str
    help: str


@dataclass
class Report:
    """What `hlolint check` says."""

    #: Every program, the worst first.
    modules: list[Module]
    #: What was found, the worst first.
    findings: list[Finding]
    diagnostics: list[Diagnostic]
    #: 0 no finding from --fail-on on, 1 findings, 2 an input could not be read, 3 no HLO.
    exit_code: int
    #: What was written to the error stream.
    stderr: str
    #: The whole JSON.
    raw: dict[str, Any] = field(repr=False)
    #: The exception of the compile, where a lowered program was compiled and that failed.
    compile_error: Exception | None = None

    @property
    def fits(self) -> bool | None:
        """Whether all programs fit; None where that is not known."""
        verdicts = {module.verdict for module in self.modules}
        if "does-not-fit" in verdicts:
            return False
        return True if verdicts and verdicts <= {"fits", "no-limit"} else None

    @classmethod
    def of(cls, said: dict[str, Any], exit_code: int, stderr: str) -> Report:
        return cls(
            modules=[Module.of(module) for module in said["modules"]],
            findings=[Finding.of(finding) for finding in said["findings"]],
            diagnostics=[
                Diagnostic(one["failed"], one["file"], one["message"], one["help"])
                for one in said["diagnostics"]
            ],
            exit_code=exit_code,
            stderr=stderr,
            raw=said,
        )
