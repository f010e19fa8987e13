"""Screenshots are small, and show what was there; and the page of pictures shows what is in the folder."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

from pictures import small
from screenshots import FOLDER, SIGHTS, listed
from support.browsers import Visitor

pytest_plugins = ["support.browsers"]

BLANK = "data:text/html,<title>blank</title>"
STRIPES = "data:text/html,<body style='margin:0;height:100vh;background:linear-gradient(90deg,red,lime,blue)'>"
FURTHEST = """
async (pictures) => {
  const pixels = await Promise.all(pictures.map(async (png) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const pen = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    pen.drawImage(picture, 0, 0);
    return pen.getImageData(0, 0, picture.width, picture.height).data;
  }));
  return pixels[0].reduce((most, part, at) => Math.max(most, Math.abs(part - pixels[1][at])), 0);
}
"""


def test_a_small_picture_shows_the_same(visitor: Visitor) -> None:
    page = visitor(None, at=BLANK, size=(500, 40))
    page.goto(STRIPES)
    shot = page.screenshot()
    page.goto(BLANK)
    made = small(shot, page)
    assert made.startswith(b"\x89PNG")
    assert b"PLTE" in made
    assert page.evaluate(FURTHEST, [b64encode(shot).decode(), b64encode(made).decode()]) <= 8


def test_every_sight_is_in_the_folder_and_on_its_page() -> None:
    page = (FOLDER / "README.md").read_text()
    assert page == listed(SIGHTS)
    assert set(re.findall(r'src="([^"]+)"', page)) == {path.name for path in Path(FOLDER).glob("*.png")}
    assert sum(path.stat().st_size for path in Path(FOLDER).iterdir()) < 5_000_000
