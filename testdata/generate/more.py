"""Compiles the programs of more_models.py with two compilers into a folder outside testdata.

    python3 more.py [--into DIR] [--compiler RELEASE] [NAME...]

Each dump goes to DIR/RELEASE/NAME; DIR/totals.json states what XLA's own files say of each:
outcome, HBM bytes with and without the thread-local allocations. Used to score the memory model on
programs that no test was fitted to. DIR is ./more-dumps unless given, and never committed.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

import generate

COMPILERS = ("0.0.52", "0.0.42.1")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=pathlib.Path, default=generate.HERE / "more-dumps")
    parser.add_argument("--compiler", choices=COMPILERS, action="append")
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def totals(into, programs):
    """What XLA states of every dump that is there."""
    from dumpfiles import hbm_totals

    found = {}
    for compiler in COMPILERS:
        for name, program in programs.items():
            folder = into / compiler / name
            if not folder.exists():
                continue
            modules = [
                {"module": module, "total_bytes": total, "required_bytes": required}
                for module, total, required in hbm_totals(folder)
            ]
            found.setdefault(compiler, {})[name] = {
                "topology": program.topology,
                "outcome": generate.outcome(folder),
                "modules": modules,
            }
    return found


def main():
    generate.rerun_inside()
    sys.path.insert(0, str(generate.HERE))
    from more_models import program as programs

    options = arguments()
    into = options.into.resolve()
    failed = {}
    for compiler in options.compiler or COMPILERS:
        chosen = [
            dataclasses.replace(
                p,
                compiler=compiler,
                keep=("tpu_comp_env.txt", "after_optimizations-buffer-assignment-values.txt"),
            )
            for p in programs.values()
            if not options.names or p.name in options.names
        ]
        failed |= generate.make("more_models.py", chosen, into / compiler)
    (into / "totals.json").write_text(json.dumps(totals(into, programs), indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
