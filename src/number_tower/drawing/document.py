"""Reports: text in Markdown, and one page of it that needs no script and no other file."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup
from markupsafe import escape as escape_html

from number_tower.drawing.renderer import render

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$&!])")
_SYNTAX = ("backticks", "emphasis", "escape", "fence", "heading", "image", "list", "table")


# Markdown -----------------------------------------------------------------------------------------


def escape(text: str) -> str:
    """Return text of which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", text)


def format_code(text: str) -> str:
    """Return code between more backticks than it contains."""
    fence = _choose_fence(text)
    beside = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{beside}{text}{beside}{fence}"


def format_command(text: str) -> str:
    """Return a command to be typed, in a paragraph of its own."""
    fence = max("```", _choose_fence(text), key=len)
    return f"{fence}sh\n{text}\n{fence}"


def format_items(items: Iterable[str], *, numbered: bool = False) -> str:
    """Return a list."""
    return "\n".join(
        f"{f'{place}.' if numbered else '-'} {item}" for place, item in enumerate(items, 1)
    )


def format_image(name: str, title: str, description: str, caption: str) -> str:
    """Return the image in a file, described for those who do not see it, and a text below it."""
    return f"![{escape(title)}. {escape(description)}]({name})\n\n{caption}"


def format_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with aligned columns, readable as plain text, below its caption."""
    # A bar would end a cell even in code.
    lines = [[re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in row] for row in (head, *rows)]
    sizes = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rulers = ["-" * sizes[0], *("-" * (size - 1) + ":" for size in sizes[1:])]
    written = []
    for label, *cells in (lines[0], rulers, *lines[1:]):
        aligned = map(str.rjust, cells, sizes[1:])
        written.append(f"| {' | '.join([label.ljust(sizes[0]), *aligned])} |")
    return f"{caption}:\n\n" + "\n".join(written)


def _choose_fence(text: str) -> str:
    return "`" * (1 + max(map(len, re.findall("`+", text)), default=0))


# Files --------------------------------------------------------------------------------------------


def render_page(title: str, parts: Iterable[str], images: Mapping[str, str]) -> str:
    """Return a page of paragraphs in Markdown, or `Markup`; `images` are SVG by their names."""

    def place_image(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
        image = tokens[index]
        data = b64encode(images[str(image.attrs["src"])].encode()).decode()
        text = RendererHTML().renderInlineAsText(image.children, parser.options, {})
        return f'<img alt="{escape_html(text)}" src="data:image/svg+xml;base64,{data}">'

    parser = MarkdownIt("zero").enable(_SYNTAX)
    parser.add_render_rule("image", place_image)
    # A wide table is scrolled, also by the keyboard.
    parser.add_render_rule("table_open", lambda *_: '<table tabindex="0">')
    body = [part if isinstance(part, Markup) else parser.render(part) for part in parts]
    return render("report.html", title=title, body=map(Markup, body))
