"""Where screenshots go: all into build/pictures, to be looked at; those that the documentation shows also into docs."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
ALL = ROOT / "build" / "pictures"
KEPT = ROOT / "docs" / "pictures"


def keep_picture(name: str, png: bytes) -> None:
    """Write a screenshot to be looked at and, if the documentation shows it, beside the documentation."""
    made = shrink(png)
    for folder in (ALL, KEPT) if f"{name}.png" in list_shown() else (ALL,):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.png").write_bytes(made)


def list_shown() -> set[str]:
    """Return the names of the pictures that the documentation shows."""
    pages = ROOT.joinpath("README.md"), *ROOT.joinpath("docs").rglob("*.md")
    return {name for page in pages for name in re.findall(r"pictures/([\w-]+\.png)", page.read_text())}


def shrink(png: bytes) -> bytes:
    """Return a picture with 256 colours at most, which makes it several times smaller."""
    made = BytesIO()
    picture = Image.open(BytesIO(png)).convert("RGB")
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE).save(
        made, "PNG", optimize=True
    )
    return made.getvalue()
