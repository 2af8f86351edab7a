"""Where the hlolint binary is."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path


def find_binary() -> Path:
    """The binary that HLOLINT names, else the one of this installation, else one on the PATH.

    Raises `FileNotFoundError` where there is none.
    """
    named = os.environ.get("HLOLINT")
    if named:
        return Path(named)
    name = "hlolint" + (sysconfig.get_config_var("EXE") or "")
    folders = [sysconfig.get_path("scripts")]
    user = sysconfig.get_preferred_scheme("user")
    if user in sysconfig.get_scheme_names():
        folders.append(sysconfig.get_path("scripts", scheme=user))
    for folder in folders:
        if folder and (found := Path(folder, name)).is_file():
            return found
    on_path = shutil.which(name)
    if on_path is None:
        raise FileNotFoundError(f"no {name}: install it with pip, or name it with HLOLINT=PATH")
    return Path(on_path)
