"""A report as one page for browsers and printers: nothing is loaded, nothing runs, and it can be read aloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.coach.picture.svg import FONTS, element, words
from number_tower.evaluation.report.charting import NARROW, WIDE, style
from number_tower.evaluation.report.document import (
    Code,
    Command,
    Grid,
    Heading,
    Items,
    Paragraph,
    Picture,
    Strong,
    parts,
)

if TYPE_CHECKING:
    from number_tower.evaluation.report.document import Document, Piece, Words

_STYLE = f"""
:root {{ color-scheme: light dark; --paper: #f6f7f9; --card: #ffffff; --ink: #1b2027; --soft: #56606c; --line: #d9dee4; }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ --paper: #0c0f12; --card: #14181d; --ink: #e8ecf1; --soft: #a9b4c0; --line: #343c46; }}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 {FONTS}; }}
main {{ max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: break-word; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; margin: .5rem 0 1rem; }}
h2 {{ font-size: 1.3rem; margin: 2.5rem 0 .75rem; }}
p, ul, ol {{ margin: 0 0 1rem; max-width: 46rem; }}
li {{ margin-bottom: .4rem; }}
code, pre {{ font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; font-size: .9em; }}
code {{ background: var(--card); border: 1px solid var(--line); border-radius: .3em; padding: .05em .3em; overflow-wrap: anywhere; }}
pre {{ background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }}
pre code {{ border: 0; padding: 0; font-size: 1em; }}
figure {{ margin: 0 0 2rem; max-width: 50rem; }}
figure svg {{ display: block; width: 100%; height: auto; border: 1px solid var(--line); border-radius: .5rem; }}
figcaption {{ color: var(--soft); font-size: .9rem; margin-top: .5rem; }}
.narrow {{ display: none; }}
.scroll {{ overflow-x: auto; margin: 0 0 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }}
table {{ border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; padding: .75rem .75rem .25rem; }}
caption span {{ display: block; max-width: calc(100vw - 4rem); }}
th, td {{ padding: .4rem .75rem; text-align: right; vertical-align: top; border-top: 1px solid var(--line); white-space: nowrap; }}
th:first-child {{ text-align: left; white-space: normal; min-width: 8rem; }}
th code, td code {{ background: none; border: 0; padding: 0; }}
thead th {{ color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; border-top: 0; }}
tbody th {{ font-weight: 600; }}
@media (max-width: 40rem) {{ .wide {{ display: none; }} .narrow {{ display: block; }} .narrow svg {{ max-width: 26rem; }} }}
@media print {{
  body {{ background: none; }} main {{ max-width: none; padding: 0; }}
  .wide {{ display: block; }} .narrow {{ display: none; }}
  figure, tr, li {{ break-inside: avoid; }} h2 {{ break-after: avoid; }} .scroll {{ overflow: visible; }}
}}
"""  # noqa: E501 - a style's rules are read one a line


def page(document: Document) -> str:
    """Write a document as one file; nothing that players said is taken for markup."""
    title = words(document.title)
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        element("title", title),
        f"<style>{_STYLE}{style()}</style>",
    ]
    main = element("main", "\n", element("h1", title), "\n", *(f"{_written(piece)}\n" for piece in document.pieces))
    return "\n".join(["<!doctype html>", '<html lang="en">', *head, f"<body>\n{main}\n</body>", "</html>", ""])


def _written(piece: Piece) -> str:
    match piece:
        case Heading(text):
            return element("h2", words(text))
        case Paragraph(said):
            return element("p", _said(said))
        case Items(items, numbered):
            return element("ol" if numbered else "ul", *(element("li", _said(item)) for item in items))
        case Command(text):
            return element("pre", element("code", words(text)))
        case Picture(plot):
            both = (
                element("div", plot.svg(size, styled=False), class_=name)
                for name, size in (("wide", WIDE), ("narrow", NARROW))
            )
            return element("figure", *both, element("figcaption", words(plot.caption)))
        case Grid(caption, head, rows):
            titles = element("tr", *(element("th", words(cell), scope="col") for cell in head))
            body = (
                element("tr", element("th", _said(name), scope="row"), *(element("td", _said(cell)) for cell in cells))
                for name, *cells in rows
            )
            table = element(
                "table",
                element("caption", element("span", words(caption))),
                element("thead", titles),
                element("tbody", *body),
            )
            return element("div", table, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _said(said: Words) -> str:
    return "".join(_one(each) for each in parts(said))


def _one(text: str) -> str:
    if isinstance(text, Code):
        return element("code", words(text))
    return element("strong", words(text)) if isinstance(text, Strong) else words(text)
