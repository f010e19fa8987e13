"""The templates of all pages, with what a game's page needs; a server adds the rest."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, select_autoescape
from markupsafe import Markup, escape

from number_tower.drawing.renderer import TEMPLATES
from number_tower.drawing.towers import draw_towers
from number_tower.solve.worth import VALUE_VERBS
from number_tower.support.text import format_count, format_duration
from number_tower.words.brief import describe_fit_rule, describe_goal, describe_rules
from number_tower.words.voice import format_points

MAX_SHOWN_NAME = 16
"""Characters of a name in a headline that are always shown whole."""


def render(name: str, /, **context: object) -> str:
    """Fill a template; of a page only the main part, unless the context names another layout."""
    return environment.get_template(name).render({"layout": "fragment.html", **context})


def wrap_ranges(text: str) -> Markup:
    """Keep ranges such as 17-30 in one piece, and let long lists break after commas."""
    ranges = re.compile(r"(?<!\d)\d+-\d+", re.ASCII)
    written = ranges.sub(r'<span class="run">\g<0></span>', str(escape(text)))
    return Markup(re.sub(r",(?=\d|<span)", ",<wbr>", written))  # noqa: S704 - it was escaped above


def shorten_names(text: str, *names: str) -> Markup:
    """Let a page cut long names in a headline, with the whole name as a tooltip."""
    long = [re.escape(name) for name in names if len(name) > MAX_SHOWN_NAME]
    if not long:
        return escape(text)
    # The split keeps the names: every second part is one.
    parts = re.split(f"({'|'.join(sorted(long, key=len, reverse=True))})", text)
    cut = Markup('<bdi class="cut" title="{0}">{0}</bdi>')
    pieces = (cut.format(part) if index % 2 else part for index, part in enumerate(parts))
    return Markup("").join(pieces)


environment = Environment(
    loader=FileSystemLoader([Path(__file__).parent.parent / "templates", TEMPLATES]),
    autoescape=select_autoescape(),
    trim_blocks=True,
    lstrip_blocks=True,
)
environment.globals |= {
    "describe_fit_rule": describe_fit_rule,
    "describe_goal": describe_goal,
    "describe_rules": describe_rules,
    "draw_towers": draw_towers,
    "format_count": format_count,
    "format_duration": format_duration,
    "verbs": VALUE_VERBS,
    "zip": zip,
}
environment.filters |= {"points": format_points, "runs": wrap_ranges, "shorten": shorten_names}
