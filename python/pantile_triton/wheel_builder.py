"""Builds the wheel pantile-triton; a build backend as PEP 517 has it, without requirements.

Needs: the source tree that this folder lies in.
Gives: a wheel with the package triton, which imports pantile, and with the record of an installed
       distribution `triton`, so that installers and `importlib.metadata` find the version that
       pantile stands for. A wheel may have one such record of its own: the second is data of it.
"""

import base64
import hashlib
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "pantile"
SOURCE = PACKAGE / "_stand_in/triton/__init__.py"


def versions():
    """Return (version of pantile, version of the triton that it stands for)."""
    text = (PACKAGE / "release.py").read_text(encoding="utf-8")
    version = re.search(r'^version = "([\d.]+)"', text, re.M)[1]
    stands_for = re.search(r'^__version__ = f"([\d.]+)\+pantile', text, re.M)[1]
    return version, f"{stands_for}+pantile.{version}"


def metadata(name, version, summary, *more):
    """Return the text of a METADATA file."""
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", f"Summary: {summary}"]
    return "\n".join([*lines, "License: MIT", *more, ""])


def record(files, own):
    """Return the text of a RECORD file for `files`, texts by path, that lies at `own` itself."""
    rows = []
    for path, text in files.items():
        digest = hashlib.sha256(text.encode()).digest()
        encoded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        rows.append(f"{path},sha256={encoded},{len(text.encode())}\n")
    return "".join(rows) + f"{own},,\n"


def stand_in_record(version, package):
    """Return the files of the distribution `triton`, by their installed path."""
    folder = f"triton-{version}.dist-info"
    told = "The name triton for pantile"
    files = {
        f"{folder}/METADATA": metadata("triton", version, told),
        f"{folder}/INSTALLER": "pantile-triton\n",
    }
    listed = record({**package, **files}, f"{folder}/RECORD")
    return {**files, f"{folder}/RECORD": listed}


def get_requires_for_build_wheel(config_settings=None):
    """Return the packages that building needs: none."""
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel into a folder and return its file name."""
    version, stands_for = versions()
    stem = f"pantile_triton-{version}"
    package = {"triton/__init__.py": SOURCE.read_text(encoding="utf-8")}
    data = stand_in_record(stands_for, package)
    files = {**package, **{f"{stem}.data/purelib/{path}": text for path, text in data.items()}}
    told = "Provides the package triton, which is pantile, to programs that import it by name"
    requires = f"Requires-Dist: pantile=={version}"
    files[f"{stem}.dist-info/METADATA"] = metadata(
        "pantile-triton", version, told, "Requires-Python: >=3.10", requires
    )
    tag = "py3-none-any"
    files[f"{stem}.dist-info/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: pantile\nRoot-Is-Purelib: true\nTag: {tag}\n"
    )
    name = f"{stem}-{tag}.whl"
    own = f"{stem}.dist-info/RECORD"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, text in {**files, own: record(files, own)}.items():
            wheel.writestr(path, text)
    return name
