"""Small pictures: a screenshot's pixels, written as a PNG of at most 256 colours."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

_COUNT = """
async (png) => {
  const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  const pixels = new Uint32Array(pen.getImageData(0, 0, picture.width, picture.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const part = (colour, place) => (colour >> (8 * place)) & 255;
  const apart = (one, other) => [0, 1, 2].reduce((sum, place) => sum + (part(one, place) - part(other, place)) ** 2, 0);
  const often = [...counts].sort((one, other) => other[1] - one[1] || one[0] - other[0]).map(([colour]) => colour);
  const palette = often.slice(0, 128);
  const missed = often.slice(128).map((colour) => [colour, Math.min(...palette.map((each) => apart(colour, each)))]);
  while (missed.length && palette.length < 256) {
    const worst = missed.reduce((one, other) => (other[1] > one[1] ? other : one))[0];
    palette.push(worst);
    for (const each of missed) each[1] = Math.min(each[1], apart(each[0], worst));
  }
  const nearest = new Map();
  for (const colour of counts.keys()) {
    const nearer = (best, each, index) => apart(colour, each) < apart(colour, palette[best]) ? index : best;
    nearest.set(colour, palette.reduce(nearer, 0));
  }
  const rows = new Uint8Array((picture.width + 1) * picture.height);
  for (let y = 0, at = 0; y < picture.height; y++) {
    at++;
    for (let x = 0; x < picture.width; x++) rows[at++] = nearest.get(pixels[y * picture.width + x]);
  }
  let text = "";
  for (let at = 0; at < rows.length; at += 32768) text += String.fromCharCode(...rows.subarray(at, at + 32768));
  const colours = palette.map((colour) => [0, 1, 2].map((place) => part(colour, place)));
  return [picture.width, picture.height, colours, btoa(text)];
}
"""


def small(png: bytes, page: Page) -> bytes:
    """Return a picture with the 128 colours it uses most, and 128 that differ most from these; any page can do it."""
    width, height, palette, rows = page.evaluate(_COUNT, b64encode(png).decode())
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
        + _chunk(b"PLTE", bytes(part for colour in palette for part in colour))
        + _chunk(b"IDAT", zlib.compress(b64decode(rows), 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
