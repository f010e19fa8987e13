"""A report as a sequence of pieces, and how it is written as Markdown and as HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from number_tower.coach.svg import FONTS, escape_text, make_element
from number_tower.evaluation.report.charts import NARROW, WIDE, Plot, build_style


class CodeText(str):
    """Text to be shown as code: written by a player or for a computer."""

    __slots__ = ()


class StrongText(str):
    """Emphasized text."""

    __slots__ = ()


Words = str | tuple[str, ...]
"""Text, parts of which may be code or emphasized."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list, numbered or not."""

    items: tuple[Words, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command to be typed."""

    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the first column is the label of a row, the others are numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


DocumentPiece = Heading | Items | ShellCommand | Grid | Plot | Words
"""A piece of a report; a paragraph is its words alone."""


def _join_words(words: Words, write: Callable[[str], str]) -> str:
    return "".join(map(write, (words,) if isinstance(words, str) else words))


_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$])")


def render_markdown(title: str, pieces: Sequence[DocumentPiece]) -> str:
    """Return a report as Markdown; text of players is escaped."""
    return "\n\n".join([f"# {_escape(title)}", *map(_format_piece, pieces)]) + "\n"


def _format_piece(piece: DocumentPiece) -> str:
    match piece:
        case Heading(text):
            return f"## {_escape(text)}"
        case Items(items, numbered):
            lines = (_join_words(item, _format_text) for item in items)
            return "\n".join(f"{f'{place}.' if numbered else '-'} {line}" for place, line in enumerate(lines, 1))
        case ShellCommand(text):
            fence = max("```", _choose_fence(text), key=len)
            return f"{fence}sh\n{text}\n{fence}"
        case Plot(name, title, caption, description):
            return f"![{_escape(title)}. {_escape(description)}]({name}.svg)\n\n{_escape(caption)}"
        case Grid(caption, head, rows):
            return f"{_escape(caption)}:\n\n{_format_table(head, rows)}"
        case _:
            return _join_words(piece, _format_text)


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with aligned columns, readable as plain text."""
    lines = [[_format_cell(cell) for cell in row] for row in (head, *rows)]
    sizes = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    ruler = ["-" * size if not place else "-" * (size - 1) + ":" for place, size in enumerate(sizes)]
    written = []
    for label, *cells in (lines[0], ruler, *lines[1:]):
        aligned = map(str.rjust, cells, sizes[1:])
        written.append(f"| {' | '.join([label.ljust(sizes[0]), *aligned])} |")
    return "\n".join(written)


def _format_cell(text: str) -> str:
    """Return a cell; a bar is escaped even in code, where it would end the cell."""
    return _format_code(text).replace("|", r"\|") if isinstance(text, CodeText) else _escape(text)


def _format_text(text: str) -> str:
    if isinstance(text, CodeText):
        return _format_code(text)
    return f"**{_escape(text)}**" if isinstance(text, StrongText) else _escape(text)


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;"))


def _format_code(text: str) -> str:
    """Return code between more backticks than it contains."""
    fence = _choose_fence(text)
    beside = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{beside}{text}{beside}{fence}"


def _choose_fence(text: str) -> str:
    return "`" * (1 + max(map(len, re.findall("`+", text)), default=0))


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


def render_html(title: str, pieces: Sequence[DocumentPiece]) -> str:
    """Return a report as one HTML page; text of players is escaped."""
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        make_element("title", escape_text(title)),
        f"<style>{_STYLE}{build_style()}</style>",
    ]
    body = [make_element("h1", escape_text(title)), *map(_render_piece, pieces)]
    main = make_element("main", "\n", *(f"{element}\n" for element in body))
    return "\n".join(["<!doctype html>", '<html lang="en">', *head, f"<body>\n{main}\n</body>", "</html>", ""])


def _render_piece(piece: DocumentPiece) -> str:
    match piece:
        case Heading(text):
            return make_element("h2", escape_text(text))
        case Items(items, numbered):
            lines = (make_element("li", _join_words(item, _render_text)) for item in items)
            return make_element("ol" if numbered else "ul", *lines)
        case ShellCommand(text):
            return make_element("pre", make_element("code", escape_text(text)))
        case Plot():
            both = (
                make_element("div", piece.render(size, styled=False), class_=name)
                for name, size in (("wide", WIDE), ("narrow", NARROW))
            )
            return make_element("figure", *both, make_element("figcaption", escape_text(piece.caption)))
        case Grid(caption, head, rows):
            titles = make_element("tr", *(make_element("th", escape_text(cell), scope="col") for cell in head))
            body = (
                make_element(
                    "tr",
                    make_element("th", _render_text(name), scope="row"),
                    *(make_element("td", _render_text(cell)) for cell in cells),
                )
                for name, *cells in rows
            )
            table = make_element(
                "table",
                make_element("caption", make_element("span", escape_text(caption))),
                make_element("thead", titles),
                make_element("tbody", *body),
            )
            return make_element("div", table, class_="scroll", role="region", aria_label=caption, tabindex=0)
        case _:
            return make_element("p", _join_words(piece, _render_text))


def _render_text(text: str) -> str:
    if isinstance(text, CodeText):
        return make_element("code", escape_text(text))
    return make_element("strong", escape_text(text)) if isinstance(text, StrongText) else escape_text(text)
