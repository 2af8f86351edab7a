"""Times XLA's own HLO parser on a file: `python parse_speed.py FILE [RUNS]`.

Prints the best of RUNS (5) as MB/s (10^6 bytes), to stand beside the parse benchmark of this
project. A `.gz` is unpacked first. Needs jaxlib (the environment of requirements.txt).
"""

import gzip
import pathlib
import sys
import time

from jaxlib import _hlo


def best_seconds(text, runs):
    """The shortest of `runs` parses."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        module = _hlo.hlo_module_from_text(text)
        best = min(best, time.perf_counter() - start)
        del module  # freeing the module is not parsing
    return best


def main():
    path = pathlib.Path(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    seconds = best_seconds(data.decode(), runs)
    print(f"{path.name}: {len(data)} bytes, best of {runs} {seconds:.4f} s, {len(data) / seconds / 1e6:.1f} MB/s")


if __name__ == "__main__":
    main()
