"""One picture of a game: the towers as they grew, a column a move, and through them the line of the values.

It is an SVG that needs nothing else, to be printed as well as shown: what belongs to whom is told by shape and shade,
what was a mistake by its mark, and never by colour alone. Every part has a class, and what it stands for in `data-`.
"""

from __future__ import annotations

from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.svg import (
    ALARM,
    DIGIT,
    FONTS,
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
    Layout,
    Panel,
    draw_label,
    draw_rule,
    draw_swatch,
    draw_text,
    escape_text,
    format_number,
    isolate_direction,
    make_element,
    measure_text,
    shorten_name,
    wrap_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.coach.review import GameReview, JudgedMove, ReviewText
    from number_tower.game import Game

_NARROWEST, _WIDEST, _ROOMIEST = 640.0, 1280.0, 2000.0


_COLUMN, _BROAD = 46.0, 84.0


_LEVEL = 30.0


_MAX_NOTES = 8


_ABOUT_LONG_GAMES = ("A long game: numbers for which there is no room are left out.",)


def draw_review(review: GameReview, telling: ReviewText, title: str) -> str:
    """Draw a game that was reviewed; the text is ASCII throughout, so that no encoding can spoil it."""
    telling = telling._replace(names=(isolate_direction(telling.names[0]), isolate_direction(telling.names[1])))
    plan = _plan_layout(review, telling)
    first, *second = draw_towers(review, telling, plan)
    body = [first, _draw_values(review, telling, plan), *second, _draw_rows(review, plan)]
    title = title.rstrip(":")
    head, notes = _draw_heading(review, telling, plan, title), _draw_notes(review, telling, plan)
    drawn = [_draw_turning_point(review, plan, head.height, sum(piece.height for piece in body))]
    y = 0.0
    for piece in (head, *body, notes):
        drawn.append(make_element("g", piece.content, transform=f"translate(0 {format_number(y)})"))
        y += piece.height
    about = [*map(": ".join, _describe_mistakes(review, telling)), *_summarize(review, telling)]
    whole = make_element(
        "svg",
        make_element("title", escape_text(f"{title}: {telling.format_headline(review)}")),
        make_element("desc", escape_text(" ".join(about))),
        make_element("rect", class_="paper", width=plan.width, height=y, fill=PAPER, rx=10),
        *drawn,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {format_number(plan.width)} {format_number(y)}",
        width=plan.width, height=y,
        role="img", class_="number-tower-review", font_family=FONTS, font_size=TEXT, fill=INK,
    )  # fmt: skip
    return whole.encode("ascii", "xmlcharrefreplace").decode() + "\n"


def _plan_layout(review: GameReview, telling: ReviewText) -> Layout:
    """Give each move a column as wide as its number needs, as long as the whole stays within a page."""
    columns = len(review.moves) + 1
    digits = max((len(str(number)) for move in review.moves for number in (move.block, *move.best[:1])), default=1)
    wide = (8 + digits * DIGIT * LARGEST) / PART
    column = max(wide, min(_BROAD, max(_COLUMN, _NARROWEST / columns)))
    most = _WIDEST if wide <= _COLUMN else _ROOMIEST
    if columns * column > most:
        column = most / columns if most / columns >= SLIM else _WIDEST / columns
    size = min(LARGEST, (PART * column - 6) / (DIGIT * digits))
    labels = [*_list_rows(review), "draw", *_name_levels(telling), *list_target_labels(review)]
    left = MARGIN + 10 + max(measure_text(label, SMALL) for label in labels)
    whole = max(_NARROWEST, left + columns * column + MARGIN)
    return Layout(columns, column, left, whole, 0.0 if size < SMALLEST or column < SLIM else size)


# What is said --------------------------------------------------------------------------------------------------------


def _draw_heading(review: GameReview, telling: ReviewText, plan: Layout, title: str) -> Panel:
    """Write what game this was and how it ended, and whose blocks look how."""
    y, drawn, most = MARGIN + 14, "", plan.width - 2 * MARGIN
    for text, size, weight in ((title, 20.0, 700), (telling.format_headline(review), 15.0, 400)):
        for line in wrap_text(text, size, most):
            drawn += draw_text(line, MARGIN, y, size=size, weight=weight)
            y += 1.35 * size
    x, y = MARGIN, y + 8
    for seat, name in enumerate(telling.names):
        wide = 18 + measure_text(name, TEXT)
        if x + wide > MARGIN + most:
            x, y = MARGIN, y + LINE
        drawn += draw_swatch(seat, x, y - 5) + draw_text(name, x + 18, y)
        x += wide + 24
    return Panel(y + 20, make_element("g", drawn, class_="heading"))


def _draw_notes(review: GameReview, telling: ReviewText, plan: Layout) -> Panel:
    """Write beneath the picture what a reader wants to know of it: the mistakes, and then all the rest."""
    most = plan.width - 2 * MARGIN - 14
    across = f"M{format_number(MARGIN)} 8H{format_number(plan.width - MARGIN)}"
    y, drawn = 32.0, make_element("path", d=across, stroke=RULE)
    for lead, text in _describe_mistakes(review, telling):
        for place, line in enumerate(wrap_text(f"{lead} {text}", TEXT, most)):
            if place == 0:
                start = make_element("tspan", escape_text(lead), font_weight=700) + escape_text(line.removeprefix(lead))
                drawn += make_element("text", start, x=MARGIN, y=y)
            else:
                drawn += draw_text(line, MARGIN + 14, y)
            y += LINE
        y += 3
    y += 6 if review.mistakes else 0
    for sentence in (*_summarize(review, telling), *_ABOUT_LONG_GAMES[: not plan.size]):
        for place, line in enumerate(wrap_text(sentence, TEXT, most)):
            drawn += draw_text(line, MARGIN + (14 if place else 0), y)
            y += LINE
    return Panel(y + MARGIN - LINE + 4, make_element("g", drawn, class_="notes"))


def _describe_mistakes(review: GameReview, telling: ReviewText) -> list[tuple[str, str]]:
    """Return how what is said of each mistake begins, and the rest of it; of very many, the first ones and the last."""
    notes = [
        (
            f"Move {move.ply}, {telling.names[move.player]}'s {move.block} {move.mark}",
            " ".join(telling.format_mistake(move)),
        )
        for move in review.mistakes
    ]
    left_out = len(notes) - _MAX_NOTES
    if left_out > 0:
        notes[_MAX_NOTES - 1 : -1] = [("...", f"{left_out} more mistake{'s' if left_out > 1 else ''} ...")]
    return notes


def _summarize(review: GameReview, telling: ReviewText) -> list[str]:
    """Tell the turning point, how well each player decided, and what is not known."""
    told = [telling.format_standing(review), telling.format_turning_point(review)]
    told += [telling.format_accuracy(review, seat) for seat in (0, 1)] if review.moves else []
    return [*filter(None, [*told, telling.format_unsolved(review)])]


def _draw_turning_point(review: GameReview, plan: Layout, top: float, height: float) -> str:
    """Mark the column of the turning point through the whole picture."""
    move = review.turning_point
    if move is None:
        return ""
    label, x = "turning point", plan.find_middle(move.ply)
    half = measure_text(label, SMALL) / 2
    at = min(max(x, MARGIN + half), plan.width - MARGIN - half)
    return make_element(
        "g",
        make_element(
            "rect", x=plan.find_edge(move.ply), y=top, width=plan.column, height=height - LINE,
            fill="#fff6c2", stroke="#8a6d00", stroke_width=1, stroke_dasharray="4 3", rx=min(6, plan.column / 3),
        ),
        draw_text(label, at, top + height - 5, size=SMALL, weight=700, text_anchor="middle"),
        class_="turning-point", data_ply=move.ply,
    )  # fmt: skip


# The values ----------------------------------------------------------------------------------------------------------


def _draw_values(review: GameReview, telling: ReviewText, plan: Layout) -> Panel:
    """Draw the line of the values: high where the first seat wins, low where the second does."""
    middle = 12.0 + _LEVEL
    drawn: list[str] = []
    labels = _name_levels(telling)
    for value, label in ((1, labels[0]), (0, "draw"), (-1, labels[1])):
        if value or review.game.rules.stuck == "skips":
            y = middle - value * _LEVEL
            drawn.append(draw_rule(plan, y, RULE, 1, "level"))
            drawn.append(draw_label(plan, y + 4, label))
    ply = 0
    for known, run in groupby(review.values, lambda value: value is not None):
        values = list(run)
        if known:
            drawn += _draw_value_line([value or 0 for value in values], plan, ply, middle)
        else:
            drawn += _draw_gap(plan, ply, len(values), middle)
        ply += len(values)
    drawn += [_draw_point(review, plan, ply, middle) for ply in range(plan.columns)]
    return Panel(2 * middle + 16, make_element("g", *drawn, class_="values"))


def _name_levels(telling: ReviewText) -> tuple[str, str]:
    """Return what the highest and the lowest level of the values are called."""
    first, second = (f"{shorten_name(name)} wins" for name in telling.names)
    return first, second


def _draw_value_line(values: list[int], plan: Layout, start: int, middle: float) -> Iterator[str]:
    """Draw one unbroken stretch of the line, and shade what lies between it and the middle."""
    corners = [
        f"{format_number(plan.find_edge(start + place + end))} {format_number(middle - value * _LEVEL)}"
        for place, value in enumerate(values)
        for end in (0, 1)
    ]
    for seat, side in enumerate((1, -1)):
        shade = "".join(
            f"M{format_number(plan.find_edge(start + place))} {format_number(middle)}v{format_number(-value * _LEVEL)}"
            f"h{format_number(plan.column)}v{format_number(value * _LEVEL)}z"
            for place, value in enumerate(values)
            if value == side
        )
        if shade:
            yield make_element("path", class_=f"ahead seat-{seat + 1}", d=shade, fill=STYLES[seat].tint)
    yield make_element(
        "path", class_="value-line", d=f"M{' L'.join(corners)}", fill="none", stroke=INK,
        stroke_width=1.2 if plan.dense else 2.2, stroke_linejoin="round",
    )  # fmt: skip


def _draw_gap(plan: Layout, start: int, count: int, middle: float) -> Iterator[str]:
    """Leave a gap where nothing is known, and say so."""
    left, right = plan.find_edge(start), plan.find_edge(start + count)
    yield make_element(
        "path", class_="unknown", d=f"M{format_number(left + 3)} {format_number(middle)}H{format_number(right - 3)}",
        stroke=MUTED, stroke_dasharray="1 5", stroke_linecap="round", stroke_width=2,
    )  # fmt: skip
    if measure_text("unknown", SMALL) <= right - left:
        yield draw_text("unknown", (left + right) / 2, middle - 7, size=SMALL, fill=MUTED, text_anchor="middle")


def _draw_point(review: GameReview, plan: Layout, ply: int, middle: float) -> str:
    """Mark a position on the line; after a mistake, with the mistake's mark."""
    value = review.values[ply]
    if value is None:
        return ""
    x, y = plan.find_middle(ply), middle - value * _LEVEL
    about = {"class_": "value", "data_ply": ply, "data_value": value}
    move = review.moves[ply - 1] if ply else None
    if move is None or not move.mistake:
        return make_element("circle", cx=x, cy=y, r=0.4 if plan.dense else 3.2, fill=INK, **about)
    dot = make_element(
        "circle", cx=x, cy=y, r=2.5 if plan.dense else 11.0, fill=PAPER, stroke=ALARM,
        stroke_width=1 if plan.dense else 2, **about,
    )  # fmt: skip
    mark = (
        "" if plan.dense else draw_text(move.mark, x, y + 4.5, size=TEXT, weight=700, fill=ALARM, text_anchor="middle")
    )
    return make_element("g", dot, mark, class_="mistake", data_ply=ply, data_mark=move.mark)


# The strip beneath ---------------------------------------------------------------------------------------------------


def _list_rows(review: GameReview) -> dict[str, dict[int, str]]:
    """Return what is written beneath the columns, row by row."""
    moves = review.moves
    rows = {"move": {0: "start", **{move.ply: str(move.ply) for move in moves}}}
    if has_height(review.game):
        heights = [game.heights for game in review.game.history()]
        rows["height"] = {move.ply: str(heights[move.ply][move.player]) for move in moves}
    rows["skipped"] = {move.ply: str(2 - move.player) for move in moves if move.skips}
    rows["better"] = {move.ply: str(move.best[0]) for move in moves if move.best}
    return {name: row for name, row in rows.items() if row}


def _draw_rows(review: GameReview, plan: Layout) -> Panel:
    """Write the number of each move beneath its column, who was skipped, and what would have been better."""
    y, drawn = 14.0, []
    for name, row in _list_rows(review).items():
        entries = list(_draw_entries(name, row, plan, y))
        if not entries:
            continue
        label = draw_label(plan, y, name, MUTED)
        drawn.append(make_element("g", label, *entries, class_=f"row {name}"))
        y += LINE
    return Panel(y + LINE, make_element("g", *drawn, class_="strip"))


def _draw_entries(name: str, row: dict[int, str], plan: Layout, y: float) -> Iterator[str]:
    """Give the entries of a row; of a long game only every tenth move, and of the rest all or nothing."""
    if name == "skipped":
        side = min(12.0, plan.column)
        yield from (
            draw_swatch(int(entry) - 1, plan.find_middle(ply) - side / 2, y - 4, side) for ply, entry in row.items()
        )
        return
    if plan.dense and name == "move":
        tenth = 10 if plan.columns * SMALL < 4 * _WIDEST else 50
        row = {ply: entry for ply, entry in row.items() if ply and ply % tenth == 0}
    longest = max((len(entry) for ply, entry in row.items() if ply), default=1)
    size = min(SMALL, (plan.column - 4) / (DIGIT * longest))
    if plan.dense:
        apart = min((later - ply for ply, later in pairwise(row)), default=plan.columns) * plan.column
        size = SMALL if apart >= max(measure_text(entry, SMALL) for entry in row.values()) + 6 else 0.0
    for ply, entry in row.items() if size >= SMALLEST else []:
        if ply or measure_text(entry, size) <= plan.column:
            weight = 700 if name == "better" else 400
            yield draw_text(entry, plan.find_middle(ply), y, size=size, weight=weight, text_anchor="middle")


_HEADROOM = 22.0


_TALL, _SHORT, _STOREY = 280.0, 180.0, 24.0


_FLATTEST = 6.0


"""How flat the largest block may become before a target that is far away is left out of the picture."""


_NUMBERED = 17


"""Columns up to which the earlier blocks, too, have their numbers."""


class _StackedBlock(NamedTuple):
    """A block where it came to lie: how high it stands, and how tall it is."""

    move: JudgedMove
    base: int
    tall: int


class _TowerArea(NamedTuple):
    """Where a tower stands: its columns, where the ground is, and how much taller one more makes it."""

    plan: Layout
    ground: float
    unit: float

    @property
    def block_width(self) -> float:
        """How wide a block is."""
        return PART * self.plan.column

    def find_top(self, storey: _StackedBlock) -> float:
        """Return where a block ends above."""
        return self.ground - self.unit * (storey.base + storey.tall)


def draw_towers(review: GameReview, telling: ReviewText, plan: Layout) -> Iterator[Panel]:
    """Draw the tower that the players share, or each player's own."""
    unit, area = _measure_towers(review)
    site = _TowerArea(plan, _HEADROOM + area, unit)
    for seats in _list_owners(review.game):
        drawn = [] if len(seats) == 2 else [_draw_owner(telling, plan, seats[0], _HEADROOM + area / 2)]
        storeys = _stack_blocks(review, seats)
        for ply in range(1, plan.columns):
            drawn += _draw_earlier_blocks([storey for storey in storeys if storey.move.ply < ply], ply, site)
            drawn += [_draw_block(storey, telling, site) for storey in storeys if storey.move.ply == ply]
        drawn.append(draw_rule(plan, site.ground, INK, 1.5, "ground"))
        drawn += _draw_target(review, site)
        name = "tower shared" if len(seats) == 2 else f"tower seat-{seats[0] + 1}"
        yield Panel(site.ground + 14, make_element("g", *drawn, class_=name))


def has_height(game: Game) -> bool:
    """Say whether a tower's height decides anything; elsewhere towers are as tall as they have blocks."""
    return game.rules.target is not None or (game.rules.stuck == "skips" and game.rules.towers == "own")


def list_target_labels(review: GameReview) -> list[str]:
    """Return what is written at the height to be reached, if there is one."""
    target = review.game.rules.target
    return [] if target is None else [f"target {target}"]


def _list_owners(game: Game) -> list[tuple[int, ...]]:
    return [(0, 1)] if game.rules.towers == "shared" else [(0,), (1,)]


def _stack_blocks(review: GameReview, seats: tuple[int, ...]) -> list[_StackedBlock]:
    moves = [move for move in review.moves if move.player in seats]
    talls = [move.block if has_height(review.game) else 1 for move in moves]
    return [_StackedBlock(*each) for each in zip(moves, [0, *accumulate(talls)], talls, strict=False)]


def _measure_towers(review: GameReview) -> tuple[float, float]:
    """Return how much taller one more makes a tower, and how tall it can become: the target, where it can be seen."""
    all_storeys = [storey for seats in _list_owners(review.game) for storey in _stack_blocks(review, seats)]
    tallest = max((storey.base + storey.tall for storey in all_storeys), default=1)
    if not has_height(review.game):
        unit = min(_STOREY, 1.5 * _TALL / tallest)
        return unit, max(3 * _STOREY, tallest * unit)
    area = _TALL if review.game.rules.towers == "shared" else _SHORT
    target = review.game.rules.target
    largest = max((storey.tall for storey in all_storeys), default=target or 1)
    if target is not None and (target <= 2 * tallest or target * _FLATTEST <= area * largest):
        return area / target, area
    return area / tallest, area


def _draw_earlier_blocks(standing: list[_StackedBlock], ply: int, site: _TowerArea) -> Iterator[str]:
    """Draw the blocks that lay there before a move, those of each player in one stroke; in a long game, all in one."""
    if not standing:
        return
    plan = site.plan
    if plan.dense:
        whole = _StackedBlock(standing[0].move, 0, standing[-1].base + standing[-1].tall)
        yield make_element("path", class_="earlier", d=_outline_block(whole, ply, site), fill="#dfe5ec")
        return
    for seat, style in enumerate(STYLES):
        outline = "".join(_outline_block(storey, ply, site) for storey in standing if storey.move.player == seat)
        if outline:
            name = f"earlier seat-{seat + 1}"
            yield make_element("path", class_=name, d=outline, fill=style.faint, stroke=style.faint_edge)
    for storey in standing if plan.columns <= _NUMBERED else []:
        tall = site.unit * storey.tall
        size = min(0.8 * plan.size, tall - 2)
        if size >= SMALLEST:
            y = site.find_top(storey) + tall / 2 + 0.36 * size
            yield draw_text(
                str(storey.move.block), plan.find_middle(ply), y, size=size, fill=MUTED, text_anchor="middle"
            )


def _outline_block(storey: _StackedBlock, ply: int, site: _TowerArea) -> str:
    corner = (
        f"{format_number(site.plan.find_middle(ply) - site.block_width / 2)} {format_number(site.find_top(storey))}"
    )
    width, height = format_number(site.block_width), format_number(site.unit * storey.tall)
    return f"M{corner}h{width}v{height}h-{width}z"


def _draw_block(storey: _StackedBlock, telling: ReviewText, site: _TowerArea) -> str:
    """Draw a block in the column of its move, with its number in it or, if it is too flat, above it."""
    move, plan = storey.move, site.plan
    style = STYLES[move.player]
    tall, x, y = site.unit * storey.tall, plan.find_middle(move.ply), site.find_top(storey)
    box = make_element(
        "rect", x=x - site.block_width / 2, y=y, width=site.block_width, height=tall,
        rx=min(style.corner, tall / 2, site.block_width / 3) or None,
        fill=style.fill, stroke=style.edge, stroke_width=0.3 if plan.dense else 1.5,
    )  # fmt: skip
    label = ""
    if plan.size:
        inside = tall >= plan.size + 1
        at, ink = (y + tall / 2 + 0.36 * plan.size, style.ink) if inside else (y - 5, INK)
        label = draw_text(str(move.block), x, at, size=plan.size, weight=700, fill=ink, text_anchor="middle")
    about = make_element(
        "title", escape_text(f"Move {move.ply}, {telling.names[move.player]}: {move.block}{move.mark}")
    )
    name = f"block seat-{move.player + 1}"
    return make_element("g", about, box, label, class_=name, data_ply=move.ply, data_block=move.block)


def _draw_owner(telling: ReviewText, plan: Layout, seat: int, y: float) -> str:
    """Say beside a tower whose it is."""
    name = draw_label(plan, y + 16, shorten_name(telling.names[seat]))
    return make_element("g", draw_swatch(seat, plan.left - 20, y - 4), name, class_="owner")


def _draw_target(review: GameReview, site: _TowerArea) -> Iterator[str]:
    y = site.ground - site.unit * (review.game.rules.target or 0)
    for label in list_target_labels(review):
        if y > 0:
            yield draw_rule(site.plan, y, INK, 1.2, "target", dash="6 4")
            yield draw_label(site.plan, y + 4, label)
        else:
            yield draw_label(site.plan, 16, label)
            yield draw_label(site.plan, 18 + SMALL, "far above", MUTED)
