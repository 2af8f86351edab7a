"""Parses every text of testdata/text with XLA's own parser: `python check_text.py`.

Exit 1 when one is refused, or when expected.json names an instruction or shape that its text
does not hold. Needs jaxlib (the environment of requirements.txt).
"""

import json
import pathlib
import sys

from jaxlib import _hlo

CASES = pathlib.Path(__file__).resolve().parent.parent / "text" / "public-cases"


def complaints():
    expected = json.loads((CASES / "expected.json").read_text())
    for path in sorted(CASES.glob("*.hlo")):
        text = path.read_text()
        try:
            _hlo.hlo_module_from_text(text)
        except Exception as error:
            yield f"{path.name}: {error}"
        for instruction in expected.pop(path.stem, {"instructions": []})["instructions"]:
            if f"{instruction['name']} = {instruction['shape']} " not in text:
                yield f"{path.name}: no {instruction['name']} of {instruction['shape']}"
    yield from (f"{name}.hlo is missing" for name in expected)


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found) or f"{len(list(CASES.glob('*.hlo')))} texts, all parsed by XLA")
    sys.exit(1 if found else 0)
