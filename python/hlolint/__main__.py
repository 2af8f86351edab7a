"""`python -m hlolint` is `hlolint`."""

import subprocess
import sys

from ._binary import find_binary

if __name__ == "__main__":
    sys.exit(subprocess.run([str(find_binary()), *sys.argv[1:]]).returncode)
