"""Drawing of a reviewed game: the towers as they grew, one column for each move, and the value of every position.

It is one SVG that needs nothing else and can be printed. Players are told apart by shape and shade, and mistakes by
their mark, never by colour alone. Every part has a class, and its data in `data-` attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby
from typing import NamedTuple

from number_tower import svg
from number_tower.brief import has_height
from number_tower.coach import review_layout as parts
from number_tower.coach.review import GameReview, JudgedMove, ReviewText
from number_tower.coach.review_layout import LINE, MARGIN, SMALL, TEXT, Layout, draw_text
from number_tower.game import Game
from number_tower.svg import INK, MUTED, Panel, make_element
from number_tower.svg import format_number as number
from number_tower.text import pluralize

_NARROWEST, _WIDEST, _ROOMIEST = 640.0, 1280.0, 2000.0
_MIN_COLUMN, _COLUMN, _BROAD = 26.0, 46.0, 84.0
_LEVEL = 30.0
_MAX_NOTES = 8
_HEADROOM = 22.0
_TALL, _SHORT, _BLOCK_HEIGHT = 280.0, 180.0, 24.0

_FLATTEST = 6.0
"""Height of the largest block below which a target that is far away is not drawn to scale."""

_MAX_NUMBERED = 17
"""Columns up to which the earlier blocks have their numbers too."""

_MAX_DETAILED = 80
"""Columns up to which the earlier blocks are drawn one by one."""


def draw_review(review: GameReview, text: ReviewText, title: str) -> str:
    """Draw a reviewed game; the SVG is ASCII, so that it is readable in any encoding.

    Examples:
        >>> from number_tower.coach.review import ReviewText, review
        >>> judged = review(nt.Game(nt.Rules(target=15), moves=(9, 5, 1)))
        >>> draw_review(judged, ReviewText(("Ann", "Ben")), "Ann and Ben")[:4]
        '<svg'
    """
    first, second = map(svg.isolate_direction, text.names)
    text = text._replace(names=(first, second))
    layout = _plan_layout(review, text)
    top, *bottom = _draw_towers(review, text, layout)
    body = [top, _draw_values(review, text, layout), *bottom, _draw_rows(review, layout)]
    title = title.rstrip(":")
    heading, notes = _draw_heading(review, text, layout, title), _draw_notes(review, text, layout)
    drawn = [
        _draw_turning_point(review, layout, heading.height, sum(panel.height for panel in body))
    ]
    y = 0.0
    for panel in (heading, *body, notes):
        drawn.append(svg.move_group(0, y, panel.content))
        y += panel.height
    about = [*map(": ".join, _describe_mistakes(review, text)), *_summarize(review, text)]
    whole = make_element(
        "svg",
        make_element("title", svg.escape_text(f"{title}: {text.format_headline(review)}")),
        make_element("desc", svg.escape_text(" ".join(about))),
        make_element("rect", class_="paper", width=layout.width, height=y, fill=svg.PAPER, rx=10),
        *drawn,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {number(layout.width)} {number(y)}", width=layout.width,
        height=y, role="img", class_="number-tower-review", font_family=svg.FONTS, font_size=TEXT, fill=INK,
    )  # fmt: skip
    return whole.encode("ascii", "xmlcharrefreplace").decode() + "\n"


def _plan_layout(review: GameReview, text: ReviewText) -> Layout:
    """Give each move a column as wide as its number needs, within a page as long as the numbers stay readable."""
    columns = len(review.moves) + 1
    digits = max(
        (len(str(block)) for move in review.moves for block in (move.block, *move.best[:1])),
        default=1,
    )
    wide = (8 + digits * svg.DIGIT_WIDTH * parts.LARGEST) / parts.BLOCK_SHARE
    column = max(wide, min(_BROAD, max(_COLUMN, _NARROWEST / columns)))
    most = _WIDEST if wide <= _COLUMN else _ROOMIEST
    if columns * column > most:
        column = max(
            _MIN_COLUMN,
            (6 + digits * svg.DIGIT_WIDTH * parts.SMALLEST) / parts.BLOCK_SHARE,
            most / columns,
        )
    size = min(parts.LARGEST, (parts.BLOCK_SHARE * column - 6) / (svg.DIGIT_WIDTH * digits))
    labels = [*_list_rows(review), "draw", *_name_levels(text), _label_target(review)]
    left = MARGIN + 10 + max(svg.measure_text(label, SMALL) for label in labels)
    return Layout(columns, column, left, max(_NARROWEST, left + columns * column + MARGIN), size)


def _draw_heading(review: GameReview, text: ReviewText, layout: Layout, title: str) -> Panel:
    """Draw the title, the result, and whose blocks look how."""
    y, drawn, most = MARGIN + 14, "", layout.width - 2 * MARGIN
    for words, size, weight in ((title, 20.0, 700), (text.format_headline(review), 15.0, 400)):
        for line in svg.wrap_text(words, size, most):
            drawn += draw_text(line, MARGIN, y, size=size, weight=weight)
            y += 1.35 * size
    x, y = MARGIN, y + 8
    for seat, name in enumerate(text.names):
        wide = 18 + svg.measure_text(name, TEXT)
        if x + wide > MARGIN + most:
            x, y = MARGIN, y + LINE
        drawn += parts.draw_swatch(seat, x, y - 5) + draw_text(name, x + 18, y)
        x += wide + 24
    return Panel(y + 20, make_element("g", drawn, class_="heading"))


def _draw_notes(review: GameReview, text: ReviewText, layout: Layout) -> Panel:
    """Draw the mistakes and the summary as text."""
    most = layout.width - 2 * MARGIN - 14
    y, drawn = (
        32.0,
        make_element("path", d=f"M{number(MARGIN)} 8H{number(layout.right)}", stroke=svg.RULE),
    )
    for lead, words in _describe_mistakes(review, text):
        first, *rest = svg.wrap_text(f"{lead} {words}", TEXT, most)
        bold = make_element("tspan", svg.escape_text(lead), font_weight=700)
        drawn += make_element(
            "text", bold + svg.escape_text(first.removeprefix(lead)), x=MARGIN, y=y
        )
        for line in rest:
            y += LINE
            drawn += draw_text(line, MARGIN + 14, y)
        y += LINE + 3
    y += 6 if review.mistakes else 0
    for sentence in _summarize(review, text):
        for place, line in enumerate(svg.wrap_text(sentence, TEXT, most)):
            drawn += draw_text(line, MARGIN + (14 if place else 0), y)
            y += LINE
    return Panel(y + MARGIN - LINE + 4, make_element("g", drawn, class_="notes"))


def _describe_mistakes(review: GameReview, text: ReviewText) -> list[tuple[str, str]]:
    """Return the lead and the rest of each mistake's note; of very many, the first ones and the last."""
    introduced = set[str]()
    leads = (
        f"Move {move.ply}, {text.names[move.player]}'s {move.block} {move.mark}"
        for move in review.mistakes
    )
    told = (" ".join(text.format_mistake(move, introduced)) for move in review.mistakes)
    notes = list(zip(leads, told, strict=True))
    left_out = len(notes) - _MAX_NOTES
    if left_out > 0:
        notes[_MAX_NOTES - 1 : -1] = [
            ("...", f"{left_out} more {pluralize('mistake', left_out)} ...")
        ]
    return notes


def _summarize(review: GameReview, text: ReviewText) -> list[str]:
    """Return the turning point, how well each player decided, and what is not known."""
    sentences = [text.format_standing(review), text.format_turning_point(review)]
    sentences += [text.format_accuracy(review, seat) for seat in (0, 1)] if review.moves else []
    return [*filter(None, [*sentences, text.format_unsolved(review)])]


def _draw_turning_point(review: GameReview, layout: Layout, top: float, height: float) -> str:
    """Mark the column of the turning point through the whole drawing."""
    move = review.turning_point
    if move is None:
        return ""
    label, x = "turning point", layout.find_middle(move.ply)
    half = svg.measure_text(label, SMALL) / 2
    x = min(max(x, MARGIN + half), layout.width - MARGIN - half)
    return make_element(
        "g",
        make_element(
            "rect", x=layout.find_edge(move.ply), y=top, width=layout.column, height=height - LINE,
            fill="#fff6c2", stroke="#8a6d00", stroke_width=1, stroke_dasharray="4 3", rx=min(6, layout.column / 3),
        ),
        draw_text(label, x, top + height - 5, size=SMALL, weight=700, text_anchor="middle"),
        class_="turning-point", data_ply=move.ply,
    )  # fmt: skip


def _draw_values(review: GameReview, text: ReviewText, layout: Layout) -> Panel:
    """Draw the line of the values: high where the first seat wins, low where the second does."""
    middle = 12.0 + _LEVEL
    drawn: list[str] = []
    first, second = _name_levels(text)
    for value, label in ((1, first), (0, "draw"), (-1, second)):
        if value or review.game.rules.stuck == "skips":
            y = middle - value * _LEVEL
            drawn += [
                parts.draw_rule(layout, y, svg.RULE, 1, "level"),
                parts.draw_label(layout, y + 4, label),
            ]
    ply = 0
    for known, run in groupby(review.values, lambda value: value is not None):
        values = list(run)
        if known:
            drawn += _draw_value_line([value or 0 for value in values], layout, ply, middle)
        else:
            drawn += _draw_gap(layout, ply, len(values), middle)
        ply += len(values)
    drawn += [_draw_point(review, layout, ply, middle) for ply in range(layout.columns)]
    return Panel(2 * middle + 16, make_element("g", *drawn, class_="values"))


def _name_levels(text: ReviewText) -> list[str]:
    return [f"{parts.shorten_name(name)} wins" for name in text.names]


def _draw_value_line(values: list[int], layout: Layout, start: int, middle: float) -> Iterator[str]:
    """Draw one unbroken stretch of the line, and shade the area between it and the middle."""
    corners = [
        f"{number(layout.find_edge(start + place + end))} {number(middle - value * _LEVEL)}"
        for place, value in enumerate(values)
        for end in (0, 1)
    ]
    for seat, side in enumerate((1, -1)):
        shade = "".join(
            f"M{number(layout.find_edge(start + place))} {number(middle)}v{number(-value * _LEVEL)}"
            f"h{number(layout.column)}v{number(value * _LEVEL)}z"
            for place, value in enumerate(values)
            if value == side
        )
        if shade:
            yield make_element(
                "path", class_=f"ahead seat-{seat + 1}", d=shade, fill=svg.STYLES[seat].tint
            )
    yield make_element(
        "path", class_="value-line", d=f"M{' L'.join(corners)}", fill="none", stroke=INK,
        stroke_width=2.2, stroke_linejoin="round",
    )  # fmt: skip


def _draw_gap(layout: Layout, start: int, count: int, middle: float) -> Iterator[str]:
    """Draw a dotted line where the values are unknown."""
    left, right = layout.find_edge(start), layout.find_edge(start + count)
    yield make_element(
        "path", class_="unknown", d=f"M{number(left + 3)} {number(middle)}H{number(right - 3)}",
        stroke=MUTED, stroke_dasharray="1 5", stroke_linecap="round", stroke_width=2,
    )  # fmt: skip
    if svg.measure_text("unknown", SMALL) <= right - left:
        yield draw_text(
            "unknown", (left + right) / 2, middle - 7, size=SMALL, fill=MUTED, text_anchor="middle"
        )


def _draw_point(review: GameReview, layout: Layout, ply: int, middle: float) -> str:
    """Mark a position on the line; after a mistake, with the mistake's mark."""
    value = review.values[ply]
    if value is None:
        return ""
    x, y = layout.find_middle(ply), middle - value * _LEVEL
    data = {"class_": "value", "data_ply": ply, "data_value": value}
    move = review.moves[ply - 1] if ply else None
    if move is None or not move.mistake:
        return make_element("circle", cx=x, cy=y, r=3.2, fill=INK, **data)
    dot = make_element(
        "circle", cx=x, cy=y, r=11.0, fill=svg.PAPER, stroke=parts.ALARM, stroke_width=2, **data
    )
    mark = draw_text(
        move.mark, x, y + 4.5, size=TEXT, weight=700, fill=parts.ALARM, text_anchor="middle"
    )
    return make_element("g", dot, mark, class_="mistake", data_ply=ply, data_mark=move.mark)


def _list_rows(review: GameReview) -> dict[str, dict[int, str]]:
    """Return the entries of each row by ply."""
    moves = review.moves
    rows = {"move": {0: "start", **{move.ply: str(move.ply) for move in moves}}}
    if has_height(review.game.rules):
        heights = [game.heights for game in review.game.history()]
        rows["height"] = {move.ply: str(heights[move.ply][move.player]) for move in moves}
    rows["skipped"] = {move.ply: str(2 - move.player) for move in moves if move.skips}
    rows["better"] = {move.ply: str(move.best[0]) for move in moves if move.best}
    return {name: row for name, row in rows.items() if row}


def _draw_rows(review: GameReview, layout: Layout) -> Panel:
    """Draw the number of each move beneath its column, who was skipped, and what would have been better."""
    y, drawn = 14.0, []
    for name, row in _list_rows(review).items():
        if entries := list(_draw_entries(name, row, layout, y)):
            drawn.append(
                make_element(
                    "g", parts.draw_label(layout, y, name, MUTED), *entries, class_=f"row {name}"
                )
            )
            y += LINE
    return Panel(y + LINE, make_element("g", *drawn, class_="strip"))


def _draw_entries(name: str, row: dict[int, str], layout: Layout, y: float) -> Iterator[str]:
    """Draw the entries of a row, unless its numbers are too long for the columns."""
    if name == "skipped":
        yield from (
            parts.draw_swatch(int(entry) - 1, layout.find_middle(ply) - 6, y - 4)
            for ply, entry in row.items()
        )
        return
    longest = max((len(entry) for ply, entry in row.items() if ply), default=1)
    size = min(SMALL, (layout.column - 4) / (svg.DIGIT_WIDTH * longest))
    for ply, entry in row.items() if size >= parts.SMALLEST else []:
        if ply or svg.measure_text(entry, size) <= layout.column:
            weight = 700 if name == "better" else 400
            yield draw_text(
                entry, layout.find_middle(ply), y, size=size, weight=weight, text_anchor="middle"
            )


class _StackedBlock(NamedTuple):
    """A block on its tower: how high its base is, and how tall it is."""

    move: JudgedMove
    base: int
    tall: int


class _TowerArea(NamedTuple):
    """Where a tower is drawn: its columns, its ground, and the height of one unit."""

    layout: Layout
    ground: float
    unit: float

    @property
    def block_width(self) -> float:
        """The width of a block."""
        return parts.BLOCK_SHARE * self.layout.column

    def find_top(self, block: _StackedBlock) -> float:
        """Return the upper edge of a block."""
        return self.ground - self.unit * (block.base + block.tall)

    def outline(self, block: _StackedBlock, ply: int) -> str:
        """Return the path of a block in the column of a move."""
        corner = f"{number(self.layout.find_middle(ply) - self.block_width / 2)} {number(self.find_top(block))}"
        width = number(self.block_width)
        return f"M{corner}h{width}v{number(self.unit * block.tall)}h-{width}z"


def _draw_towers(review: GameReview, text: ReviewText, layout: Layout) -> Iterator[Panel]:
    """Draw the shared tower, or each player's own."""
    owners: list[tuple[int, ...]] = (
        [(0, 1)] if review.game.rules.towers == "shared" else [(0,), (1,)]
    )
    towers = [_stack_blocks(review, seats) for seats in owners]
    unit, height = _measure_towers(review.game, [block for blocks in towers for block in blocks])
    area = _TowerArea(layout, _HEADROOM + height, unit)
    for seats, blocks in zip(owners, towers, strict=True):
        drawn = []
        if len(seats) == 1:
            y = _HEADROOM + height / 2
            name = parts.draw_label(layout, y + 16, parts.shorten_name(text.names[seats[0]]))
            drawn.append(
                make_element(
                    "g", parts.draw_swatch(seats[0], layout.left - 20, y - 4), name, class_="owner"
                )
            )
        for ply in range(1, layout.columns):
            drawn += _draw_earlier_blocks(
                [block for block in blocks if block.move.ply < ply], ply, area
            )
            drawn += [_draw_block(block, text, area) for block in blocks if block.move.ply == ply]
        drawn.append(parts.draw_rule(layout, area.ground, INK, 1.5, "ground"))
        drawn += _draw_target(review, area)
        name = "tower shared" if len(seats) == 2 else f"tower seat-{seats[0] + 1}"
        yield Panel(area.ground + 14, make_element("g", *drawn, class_=name))


def _label_target(review: GameReview) -> str:
    target = review.game.rules.target
    return "" if target is None else f"target {target}"


def _stack_blocks(review: GameReview, seats: tuple[int, ...]) -> list[_StackedBlock]:
    moves = [move for move in review.moves if move.player in seats]
    heights = [move.block if has_height(review.game.rules) else 1 for move in moves]
    return [
        _StackedBlock(*each)
        for each in zip(moves, [0, *accumulate(heights)], heights, strict=False)
    ]


def _measure_towers(game: Game, blocks: list[_StackedBlock]) -> tuple[float, float]:
    """Return the height of one unit, and of the whole area: up to the target, where that is near enough."""
    tallest = max((block.base + block.tall for block in blocks), default=1)
    if not has_height(game.rules):
        unit = min(_BLOCK_HEIGHT, 1.5 * _TALL / tallest)
        return unit, max(3 * _BLOCK_HEIGHT, tallest * unit)
    height = _TALL if game.rules.towers == "shared" else _SHORT
    target = game.rules.target
    largest = max((block.tall for block in blocks), default=target or 1)
    if target is not None and (target <= 2 * tallest or target * _FLATTEST <= height * largest):
        return height / target, height
    return height / tallest, height


def _draw_earlier_blocks(blocks: list[_StackedBlock], ply: int, area: _TowerArea) -> Iterator[str]:
    """Draw the blocks that were there before a move: one path for each player or, in a long game, one for all."""
    layout = area.layout
    if blocks and layout.columns > _MAX_DETAILED:
        whole = _StackedBlock(blocks[0].move, 0, blocks[-1].base + blocks[-1].tall)
        yield make_element("path", class_="earlier", d=area.outline(whole, ply), fill="#dfe5ec")
        return
    for seat, style in enumerate(svg.STYLES):
        outline = "".join(area.outline(block, ply) for block in blocks if block.move.player == seat)
        if outline:
            name = f"earlier seat-{seat + 1}"
            yield make_element(
                "path", class_=name, d=outline, fill=style.faint, stroke=style.faint_edge
            )
    for block in blocks if layout.columns <= _MAX_NUMBERED else []:
        tall = area.unit * block.tall
        size = min(0.8 * layout.size, tall - 2)
        if size >= parts.SMALLEST:
            x, y = layout.find_middle(ply), area.find_top(block) + tall / 2 + 0.36 * size
            yield draw_text(
                str(block.move.block), x, y, size=size, fill=MUTED, text_anchor="middle"
            )


def _draw_block(block: _StackedBlock, text: ReviewText, area: _TowerArea) -> str:
    """Draw a block in the column of its move, with its number in it or, if it is too flat, above it."""
    move, layout, style = block.move, area.layout, svg.STYLES[block.move.player]
    tall, x, y = area.unit * block.tall, layout.find_middle(move.ply), area.find_top(block)
    box = make_element(
        "rect", x=x - area.block_width / 2, y=y, width=area.block_width, height=tall,
        rx=min(style.corner, tall / 2, area.block_width / 3) or None,
        fill=style.fill, stroke=style.edge, stroke_width=1.5,
    )  # fmt: skip
    fits = tall >= layout.size + 1
    label_y, ink = (y + tall / 2 + 0.36 * layout.size, style.ink) if fits else (y - 5, INK)
    label = draw_text(
        str(move.block), x, label_y, size=layout.size, weight=700, fill=ink, text_anchor="middle"
    )
    title = svg.escape_text(f"Move {move.ply}, {text.names[move.player]}: {move.block}{move.mark}")
    name = f"block seat-{move.player + 1}"
    return make_element(
        "g",
        make_element("title", title),
        box,
        label,
        class_=name,
        data_ply=move.ply,
        data_block=move.block,
    )


def _draw_target(review: GameReview, area: _TowerArea) -> Iterator[str]:
    target, label = review.game.rules.target, _label_target(review)
    if target is None:
        return
    if (y := area.ground - area.unit * target) > 0:
        yield parts.draw_rule(area.layout, y, INK, 1.2, "target", dash="6 4")
        yield parts.draw_label(area.layout, y + 4, label)
    else:
        yield parts.draw_label(area.layout, 16, label)
        yield parts.draw_label(area.layout, 18 + SMALL, "far above", MUTED)
