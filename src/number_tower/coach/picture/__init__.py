"""One picture of a game: the towers as they grew, a column a move, and through them the line of the values.

It is an SVG that needs nothing else, to be printed as well as shown: what belongs to whom is told by shape and shade,
what was a mistake by its mark, and never by colour alone. Every part has a class, and what it stands for in `data-`.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from number_tower.coach.picture.sheet import (
    ALARM,
    DIGIT,
    INK,
    LARGEST,
    LINE,
    MARGIN,
    MUTED,
    PAPER,
    PART,
    RULE,
    SLIM,
    SMALL,
    SMALLEST,
    STYLES,
    TEXT,
    Piece,
    Plan,
    beside,
    rule,
    shortened,
    swatch,
    written,
)
from number_tower.coach.picture.storeys import aim, counts_height, towers
from number_tower.coach.picture.svg import FONTS, element, kept_apart, lines, number, width, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.coach.review import Review
    from number_tower.coach.telling import Telling

_NARROWEST, _WIDEST, _ROOMIEST = 640.0, 1280.0, 2000.0
_COLUMN, _BROAD = 46.0, 84.0
_LEVEL = 30.0
_MOST_NOTES = 8
_ABOUT_LONG_GAMES = ("A long game: numbers for which there is no room are left out.",)


def picture(review: Review, telling: Telling, title: str) -> str:
    """Draw a game that was reviewed; the text is ASCII throughout, so that no encoding can spoil it."""
    telling = telling._replace(names=(kept_apart(telling.names[0]), kept_apart(telling.names[1])))
    plan = _planned(review, telling)
    first, *second = towers(review, telling, plan)
    body = [first, _values(review, telling, plan), *second, _strip(review, plan)]
    title = title.rstrip(":")
    head, notes = _heading(review, telling, plan, title), _notes(review, telling, plan)
    drawn = [_turning(review, plan, head.height, sum(piece.height for piece in body))]
    y = 0.0
    for piece in (head, *body, notes):
        drawn.append(element("g", piece.drawn, transform=f"translate(0 {number(y)})"))
        y += piece.height
    about = [*map(": ".join, _mistakes(review, telling)), *_summary(review, telling)]
    whole = element(
        "svg",
        element("title", words(f"{title}: {telling.headline(review)}")),
        element("desc", words(" ".join(about))),
        element("rect", class_="paper", width=plan.width, height=y, fill=PAPER, rx=10),
        *drawn,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {number(plan.width)} {number(y)}", width=plan.width, height=y,
        role="img", class_="number-tower-review", font_family=FONTS, font_size=TEXT, fill=INK,
    )  # fmt: skip
    return whole.encode("ascii", "xmlcharrefreplace").decode() + "\n"


def _planned(review: Review, telling: Telling) -> Plan:
    """Give each move a column as wide as its number needs, as long as the whole stays within a page."""
    columns = len(review.moves) + 1
    digits = max((len(str(number)) for move in review.moves for number in (move.block, *move.best[:1])), default=1)
    wide = (8 + digits * DIGIT * LARGEST) / PART
    column = max(wide, min(_BROAD, max(_COLUMN, _NARROWEST / columns)))
    most = _WIDEST if wide <= _COLUMN else _ROOMIEST
    if columns * column > most:
        column = most / columns if most / columns >= SLIM else _WIDEST / columns
    size = min(LARGEST, (PART * column - 6) / (DIGIT * digits))
    labels = [*_rows(review), "draw", *_levels(telling), *aim(review)]
    left = MARGIN + 10 + max(width(label, SMALL) for label in labels)
    whole = max(_NARROWEST, left + columns * column + MARGIN)
    return Plan(columns, column, left, whole, 0.0 if size < SMALLEST or column < SLIM else size)


# What is said --------------------------------------------------------------------------------------------------------


def _heading(review: Review, telling: Telling, plan: Plan, title: str) -> Piece:
    """Write what game this was and how it ended, and whose blocks look how."""
    y, drawn, most = MARGIN + 14, "", plan.width - 2 * MARGIN
    for text, size, weight in ((title, 20.0, 700), (telling.headline(review), 15.0, 400)):
        for line in lines(text, size, most):
            drawn += written(line, MARGIN, y, size=size, weight=weight)
            y += 1.35 * size
    x, y = MARGIN, y + 8
    for seat, name in enumerate(telling.names):
        wide = 18 + width(name, TEXT)
        if x + wide > MARGIN + most:
            x, y = MARGIN, y + LINE
        drawn += swatch(seat, x, y - 5) + written(name, x + 18, y)
        x += wide + 24
    return Piece(y + 20, element("g", drawn, class_="heading"))


def _notes(review: Review, telling: Telling, plan: Plan) -> Piece:
    """Write beneath the picture what a reader wants to know of it: the mistakes, and then all the rest."""
    most = plan.width - 2 * MARGIN - 14
    across = f"M{number(MARGIN)} 8H{number(plan.width - MARGIN)}"
    y, drawn = 32.0, element("path", d=across, stroke=RULE)
    for lead, text in _mistakes(review, telling):
        for place, line in enumerate(lines(f"{lead} {text}", TEXT, most)):
            if place == 0:
                start = element("tspan", words(lead), font_weight=700) + words(line.removeprefix(lead))
                drawn += element("text", start, x=MARGIN, y=y)
            else:
                drawn += written(line, MARGIN + 14, y)
            y += LINE
        y += 3
    y += 6 if review.mistakes else 0
    for sentence in (*_summary(review, telling), *_ABOUT_LONG_GAMES[: not plan.size]):
        for place, line in enumerate(lines(sentence, TEXT, most)):
            drawn += written(line, MARGIN + (14 if place else 0), y)
            y += LINE
    return Piece(y + MARGIN - LINE + 4, element("g", drawn, class_="notes"))


def _mistakes(review: Review, telling: Telling) -> list[tuple[str, str]]:
    """Return how what is said of each mistake begins, and the rest of it; of very many, the first ones and the last."""
    notes = [
        (f"Move {move.ply}, {telling.names[move.player]}'s {move.block} {move.mark}", " ".join(telling.mistake(move)))
        for move in review.mistakes
    ]
    left_out = len(notes) - _MOST_NOTES
    if left_out > 0:
        notes[_MOST_NOTES - 1 : -1] = [("...", f"{left_out} more mistake{'s' if left_out > 1 else ''} ...")]
    return notes


def _summary(review: Review, telling: Telling) -> list[str]:
    """Tell the turning point, how well each player decided, and what is not known."""
    told = [telling.standing(review), telling.turning_point(review)]
    told += [telling.accuracy(review, seat) for seat in (0, 1)] if review.moves else []
    return [*filter(None, [*told, telling.unsolved(review)])]


def _turning(review: Review, plan: Plan, top: float, height: float) -> str:
    """Mark the column of the turning point through the whole picture."""
    move = review.turning_point
    if move is None:
        return ""
    label, x = "turning point", plan.middle(move.ply)
    half = width(label, SMALL) / 2
    at = min(max(x, MARGIN + half), plan.width - MARGIN - half)
    return element(
        "g",
        element(
            "rect", x=plan.edge(move.ply), y=top, width=plan.column, height=height - LINE,
            fill="#fff6c2", stroke="#8a6d00", stroke_width=1, stroke_dasharray="4 3", rx=min(6, plan.column / 3),
        ),
        written(label, at, top + height - 5, size=SMALL, weight=700, text_anchor="middle"),
        class_="turning-point", data_ply=move.ply,
    )  # fmt: skip


# The values ----------------------------------------------------------------------------------------------------------


def _values(review: Review, telling: Telling, plan: Plan) -> Piece:
    """Draw the line of the values: high where the first seat wins, low where the second does."""
    middle = 12.0 + _LEVEL
    drawn: list[str] = []
    labels = _levels(telling)
    for value, label in ((1, labels[0]), (0, "draw"), (-1, labels[1])):
        if value or review.game.rules.stuck == "skips":
            y = middle - value * _LEVEL
            drawn.append(rule(plan, y, RULE, 1, "level"))
            drawn.append(beside(plan, y + 4, label))
    ply = 0
    for known, run in groupby(review.values, lambda value: value is not None):
        values = list(run)
        if known:
            drawn += _line([value or 0 for value in values], plan, ply, middle)
        else:
            drawn += _unknown(plan, ply, len(values), middle)
        ply += len(values)
    drawn += [_point(review, plan, ply, middle) for ply in range(plan.columns)]
    return Piece(2 * middle + 16, element("g", *drawn, class_="values"))


def _levels(telling: Telling) -> tuple[str, str]:
    """Return what the highest and the lowest level of the values are called."""
    first, second = (f"{shortened(name)} wins" for name in telling.names)
    return first, second


def _line(values: list[int], plan: Plan, start: int, middle: float) -> Iterator[str]:
    """Draw one unbroken stretch of the line, and shade what lies between it and the middle."""
    corners = [
        f"{number(plan.edge(start + place + end))} {number(middle - value * _LEVEL)}"
        for place, value in enumerate(values)
        for end in (0, 1)
    ]
    for seat, side in enumerate((1, -1)):
        shade = "".join(
            f"M{number(plan.edge(start + place))} {number(middle)}v{number(-value * _LEVEL)}"
            f"h{number(plan.column)}v{number(value * _LEVEL)}z"
            for place, value in enumerate(values)
            if value == side
        )
        if shade:
            yield element("path", class_=f"ahead seat-{seat + 1}", d=shade, fill=STYLES[seat].tint)
    yield element(
        "path", class_="value-line", d=f"M{' L'.join(corners)}", fill="none", stroke=INK,
        stroke_width=1.2 if plan.dense else 2.2, stroke_linejoin="round",
    )  # fmt: skip


def _unknown(plan: Plan, start: int, count: int, middle: float) -> Iterator[str]:
    """Leave a gap where nothing is known, and say so."""
    left, right = plan.edge(start), plan.edge(start + count)
    yield element(
        "path", class_="unknown", d=f"M{number(left + 3)} {number(middle)}H{number(right - 3)}",
        stroke=MUTED, stroke_dasharray="1 5", stroke_linecap="round", stroke_width=2,
    )  # fmt: skip
    if width("unknown", SMALL) <= right - left:
        yield written("unknown", (left + right) / 2, middle - 7, size=SMALL, fill=MUTED, text_anchor="middle")


def _point(review: Review, plan: Plan, ply: int, middle: float) -> str:
    """Mark a position on the line; after a mistake, with the mistake's mark."""
    value = review.values[ply]
    if value is None:
        return ""
    x, y = plan.middle(ply), middle - value * _LEVEL
    about = {"class_": "value", "data_ply": ply, "data_value": value}
    move = review.moves[ply - 1] if ply else None
    if move is None or not move.mistake:
        return element("circle", cx=x, cy=y, r=0.4 if plan.dense else 3.2, fill=INK, **about)
    dot = element(
        "circle", cx=x, cy=y, r=2.5 if plan.dense else 11.0, fill=PAPER, stroke=ALARM,
        stroke_width=1 if plan.dense else 2, **about,
    )  # fmt: skip
    mark = "" if plan.dense else written(move.mark, x, y + 4.5, size=TEXT, weight=700, fill=ALARM, text_anchor="middle")
    return element("g", dot, mark, class_="mistake", data_ply=ply, data_mark=move.mark)


# The strip beneath ---------------------------------------------------------------------------------------------------


def _rows(review: Review) -> dict[str, dict[int, str]]:
    """Return what is written beneath the columns, row by row."""
    moves = review.moves
    rows = {"move": {0: "start", **{move.ply: str(move.ply) for move in moves}}}
    if counts_height(review.game):
        heights = [game.heights for game in review.game.history()]
        rows["height"] = {move.ply: str(heights[move.ply][move.player]) for move in moves}
    rows["skipped"] = {move.ply: str(2 - move.player) for move in moves if move.skips}
    rows["better"] = {move.ply: str(move.best[0]) for move in moves if move.best}
    return {name: row for name, row in rows.items() if row}


def _strip(review: Review, plan: Plan) -> Piece:
    """Write the number of each move beneath its column, who was skipped, and what would have been better."""
    y, drawn = 14.0, []
    for name, row in _rows(review).items():
        entries = list(_entries(name, row, plan, y))
        if not entries:
            continue
        label = beside(plan, y, name, MUTED)
        drawn.append(element("g", label, *entries, class_=f"row {name}"))
        y += LINE
    return Piece(y + LINE, element("g", *drawn, class_="strip"))


def _entries(name: str, row: dict[int, str], plan: Plan, y: float) -> Iterator[str]:
    """Give the entries of a row; of a long game only every tenth move, and of the rest all or nothing."""
    if name == "skipped":
        side = min(12.0, plan.column)
        yield from (swatch(int(entry) - 1, plan.middle(ply) - side / 2, y - 4, side) for ply, entry in row.items())
        return
    if plan.dense and name == "move":
        tenth = 10 if plan.columns * SMALL < 4 * _WIDEST else 50
        row = {ply: entry for ply, entry in row.items() if ply and ply % tenth == 0}
    longest = max((len(entry) for ply, entry in row.items() if ply), default=1)
    size = min(SMALL, (plan.column - 4) / (DIGIT * longest))
    if plan.dense:
        apart = min((later - ply for ply, later in pairwise(row)), default=plan.columns) * plan.column
        size = SMALL if apart >= max(width(entry, SMALL) for entry in row.values()) + 6 else 0.0
    for ply, entry in row.items() if size >= SMALLEST else []:
        if ply or width(entry, size) <= plan.column:
            weight = 700 if name == "better" else 400
            yield written(entry, plan.middle(ply), y, size=size, weight=weight, text_anchor="middle")
