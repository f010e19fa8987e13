"""A sheet for playing on paper, as one SVG page: the rules, a score table, places for the towers, blocks to cut out.

All lengths are millimetres on the paper. Players are told apart by shape, a square and a circle, so that black and
white is enough. The blocks and heights have their data in `data-` attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from number_tower import svg
from number_tower.brief import describe_rules, has_height, summarize_rules
from number_tower.catalogue import GameChoice, Rulebook
from number_tower.rules import Rules
from number_tower.svg import INK, MUTED, Panel, draw_box, draw_text, make_element, move_group
from number_tower.svg import format_number as number
from number_tower.table import Table
from number_tower.text import format_count, format_text
from number_tower.voice import Voice, get_voice

__all__ = ["SheetError", "draw_sheet"]

GAMES = 6
"""Games in the score table: an even number, so that both players start equally often."""

_MARGIN, _GAP = 10.0, 5.0
_TITLE, _HEADING, _TEXT, _SMALL = 8.0, 4.6, 3.8, 3.2
"""Font sizes."""
_BOLD = 1.15
"""How much wider bold letters are."""
_LONGEST_TITLE = 100
_SCORE_WIDTH, _SCORE_ROW, _NAME_ROW, _GAME_COLUMN = 76.0, 7.0, 12.0, 16.0
_MARK = 3.4

_TRACK_CELL = 7.0
_LONGEST_TRACKS = {"own": 41, "shared": 83}
"""The height up to which a tower has a track of numbers; larger heights are written into boxes."""
_NOTE_WIDTH, _NOTE_HEIGHT, _NOTE_ROWS = 14.0, 8.0, 3

_LARGEST, _COMFORTABLE, _SMALLEST, _STEP = 38.0, 18.0, 12.0, 0.5
"""Sides of a block: the largest, the smallest that is easy to hold, the smallest that is drawn, and the steps tried."""
_SET_HEAD = 8.5
_INSET = 0.06
"""Distance between the frame of a block and the line along which it is cut out, as a part of its height."""
_FACE, _SMALLEST_NUMBER = 0.6, 3.0
"""The part of a block's width that its number may take, and the smallest font size of a number."""
_UPSIDE_DOWN = str.maketrans("01689", "01986")


class SheetError(ValueError):
    """A game has more blocks than one page has room for; `room` is how many fit, for `each` player or for both.

    Examples:
        >>> from number_tower import catalogue
        >>> choice = catalogue.choose(nt.Rules(blocks=range(1, 501)))
        >>> draw_sheet(choice.book, choice.rules)
        Traceback (most recent call last):
        number_tower.sheet.SheetError: one page has room for 180 blocks; this game has 500
    """

    def __init__(self, room: int, count: int, *, each: bool) -> None:
        super().__init__(room, count)
        self.room = room
        self.count = count
        self.each = each

    def __str__(self) -> str:
        if not self.room:
            return "the rules of this game are too long for one page"
        whose = " for each player" if self.each else ""
        return f"one page has room for {format_count(self.room, 'block')}{whose}; this game has {self.count:,}"


PAPERS = {"a4": (210.0, 297.0), "letter": (215.9, 279.4)}
"""Width and height of the sizes of paper."""


class _Grid(NamedTuple):
    """Blocks in rows: how many in a row, and the size of each."""

    columns: int
    width: float
    height: float

    def count_rows(self, count: int) -> int:
        return -(-count // self.columns)


class _BlockSet(NamedTuple):
    """Blocks to cut out: those of one player, or of both where `owner` is None; None in `numbers` is an empty block."""

    owner: int | None
    title: str
    numbers: list[int | None]


def draw_sheet(book: Rulebook, rules: Rules | None = None, *, paper: str = "a4") -> str:
    """Draw the sheet of a game, with its own rules or with these; raise SheetError if it does not fit on one page.

    `paper` is "a4" or "letter". The SVG is ASCII, needs no other file, and is the same every time.

    Examples:
        >>> from number_tower import catalogue
        >>> choice = catalogue.choose(nt.Rules(blocks=range(1, 7), supply="own", target=15))
        >>> draw_sheet(choice.book, choice.rules).count('class="block"')
        12
    """
    (page_width, page_height), voice = PAPERS[paper], get_voice(book)
    rules = book.rules if rules is None else rules
    width = page_width - 2 * _MARGIN
    title = format_text(book.title.rstrip(":"), _LONGEST_TITLE)
    summary = summarize_rules(rules, voice.noun)
    left = _draw_rules(book, rules, voice, width - _SCORE_WIDTH - _GAP)
    right = _draw_score(rules, voice)
    columns = left.content + move_group(width - _SCORE_WIDTH, 0, right.content)
    panels = [
        _draw_title(title, summary, width),
        Panel(max(left.height, right.height) + 2, columns),
    ]
    room = page_height - 2 * _MARGIN - sum(panel.height for panel in panels)
    grid, sets = _plan_blocks(rules, voice, width, room)
    panels += [
        _draw_towers(rules, voice, width, grid),
        *(_draw_set(each, rules, grid, width) for each in sets),
    ]
    drawn, y = [], _MARGIN
    for panel in panels:
        drawn.append(move_group(_MARGIN, y, panel.content))
        y += panel.height
    across, down = f"{number(page_width)}mm", f"{number(page_height)}mm"
    count = format_count(sum(len(each.numbers) for each in sets), voice.noun)
    about = f"{summary} A sheet to print: the rules, a score table, and {count} to cut out."
    whole = make_element(
        "svg",
        make_element("title", svg.escape_text(title)),
        make_element("desc", svg.escape_text(about)),
        make_element("style", f"@page {{ size: {across} {down}; margin: 0 }}"),
        make_element("rect", class_="paper", width=page_width, height=page_height, fill=svg.PAPER),
        *drawn,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {number(page_width)} {number(page_height)}", width=across,
        height=down, class_="number-tower-sheet", font_family=svg.FONTS, font_size=_TEXT, fill=INK,
    )  # fmt: skip
    return whole.encode("ascii", "xmlcharrefreplace").decode() + "\n"


# Title and rules ------------------------------------------------------------------------------------------------------


def _draw_title(title: str, summary: str, width: float) -> Panel:
    first = svg.draw_paragraph(title, width, size=_TITLE, weight=700)
    second = svg.draw_paragraph(summary, width, size=_HEADING, fill=MUTED)
    return Panel(
        first.height + second.height + 2.5,
        first.content + move_group(0, first.height, second.content),
    )


def _draw_rules(book: Rulebook, rules: Rules, voice: Voice, width: float) -> Panel:
    """Draw the rules of the game, and how to play it on paper."""
    noun, (supply, *others) = voice.noun, describe_rules(rules, voice.noun)
    others.insert(0, f"Take turns. On your turn, place one {noun}.")
    if rules.target_in_reach is False:
        told = voice.tell(Table.start(GameChoice(book, rules)))
        others += [message.text.strip() for message in told if message.moment == "unreachable"]
    place = "Stack yours on your place" if rules.towers == "own" else "Stack them on their place"
    on_paper = [f"Cut out the {noun}s along the dashed lines. {place}, the newest on top."]
    if has_height(rules):
        where = (
            "Show it with a bean or a button on the numbers"
            if _has_track(rules)
            else "Write it after each turn"
        )
        on_paper.append(
            f"The height is all {noun}s of the tower added up. {where} beside the tower."
        )
    drawn, y = list[str](), 0.0
    for heading, items in (("How to play", [supply, *others]), ("On paper", on_paper)):
        drawn.append(_draw_heading(heading, width, y=y + 1.2))
        y += 1.5 * _HEADING
        for item in items:
            panel = svg.draw_paragraph(item, width - 4.5, size=_TEXT)
            bullet = make_element("circle", cx=1.4, cy=y + 0.68 * _TEXT, r=0.75)
            drawn += [bullet, move_group(4.5, y, panel.content)]
            y += panel.height + 0.7
        y += 1.0
    return Panel(y, make_element("g", *drawn, class_="rules"))


def _draw_heading(text: str, width: float, owner: int | None = None, *, y: float = 0.0) -> str:
    """Draw a heading, with the mark of the player whom it is about."""
    x = 0.0 if owner is None else _MARK + 2
    heading = draw_text(
        _shorten_heading(text, width - x), x, y + _HEADING, size=_HEADING, weight=700
    )
    return heading if owner is None else _draw_mark(owner, 0.4, y + _HEADING - _MARK) + heading


def _shorten_heading(text: str, most: float) -> str:
    return svg.shorten_text(text, _BOLD * _HEADING, most)


def _measure_heading(text: str) -> float:
    return svg.measure_text(text, _BOLD * _HEADING)


def _draw_mark(owner: int, x: float, y: float) -> str:
    """Draw the shape of a player: a square or a circle."""
    return draw_box(x, y, _MARK, _MARK, rx=_MARK / 2 if owner == 1 else None, thick=0.7)


# Score table ----------------------------------------------------------------------------------------------------------


def _draw_score(rules: Rules, voice: Voice) -> Panel:
    """Draw a table with a row for each game; in each, the player who starts is marked."""
    column, y = (_SCORE_WIDTH - _GAME_COLUMN) / 2, 1.2 + 1.5 * _HEADING
    drawn = [_draw_heading("Score", _SCORE_WIDTH, y=1.2), *_draw_row("Names", y, _NAME_ROW)]
    for seat, name in enumerate(voice.players):
        x = _GAME_COLUMN + seat * column
        label = svg.shorten_text(name, _SMALL, column - _MARK - 4)
        drawn.append(_draw_mark(seat, x + 1.5, y + 1.3))
        drawn.append(
            draw_text(label, x + _MARK + 3, y + 1.3 + 0.82 * _MARK, size=_SMALL, fill=MUTED)
        )
    y += _NAME_ROW
    for game in range(GAMES):
        drawn += _draw_row(f"Game {game + 1}", y, _SCORE_ROW)
        x = _GAME_COLUMN + game % 2 * column + 1.5
        drawn.append(
            draw_text(
                "starts", x, y + _SCORE_ROW - 2.3, size=_SMALL, fill=MUTED, data_seat=game % 2 + 1
            )
        )
        y += _SCORE_ROW
    drawn += _draw_row("Points", y, _SCORE_ROW, thick=0.7, weight=700)
    y += _SCORE_ROW + 1
    draws = ", a draw ½ point each" if rules.stuck == "skips" else ""
    points = svg.draw_paragraph(f"A win is 1 point{draws}.", _SCORE_WIDTH, size=_SMALL)
    drawn.append(move_group(0, y, points.content))
    return Panel(y + points.height, make_element("g", *drawn, class_="score"))


def _draw_row(
    label: str, y: float, height: float, *, thick: float = 0.25, weight: int = 400
) -> Iterator[str]:
    """Draw a row of the table: its label, and a box for each player."""
    column = (_SCORE_WIDTH - _GAME_COLUMN) / 2
    yield draw_box(0, y, _GAME_COLUMN, height)
    yield draw_text(label, 1.5, y + height - 2.3, size=_SMALL, weight=weight)
    for seat in (0, 1):
        yield draw_box(_GAME_COLUMN + seat * column, y, column, height, thick=thick)


# Towers ---------------------------------------------------------------------------------------------------------------


def _draw_towers(rules: Rules, voice: Voice, width: float, grid: _Grid) -> Panel:
    """Draw a place for each tower, as large as a block, and beside it a track for its height if that matters."""
    own = rules.towers == "own"
    share = (width - _GAP) / 2 if own else width
    most = share - _MARK - 2 - _measure_heading("'s tower")
    names = (
        [f"{_shorten_heading(name, most)}'s tower" for name in voice.players]
        if own
        else ["The tower"]
    )
    panels = [
        _draw_tower(rules, name, seat if own else None, share, grid)
        for seat, name in enumerate(names)
    ]
    drawn = [
        move_group(seat * (share + _GAP), 0, panel.content) for seat, panel in enumerate(panels)
    ]
    return Panel(max(panel.height for panel in panels), make_element("g", *drawn, class_="towers"))


def _draw_tower(rules: Rules, name: str, owner: int | None, width: float, grid: _Grid) -> Panel:
    top, side, height = 1.5 * _HEADING, min(grid.width, _LARGEST), grid.height
    drawn = [
        _draw_heading(name, width, owner),
        draw_box(0, top, side, height, thick=0.4, stroke=MUTED),
    ]
    if height >= _COMFORTABLE:
        y = top + height / 2 + 1
        drawn.append(
            draw_text("stack here", side / 2, y, size=_SMALL, fill=MUTED, text_anchor="middle")
        )
    if has_height(rules):
        track = (_draw_track if _has_track(rules) else _draw_notes)(rules, width - side - 3)
        drawn.append(move_group(side + 3, top, track.content))
        height = max(height, track.height)
    return Panel(top + height, "".join(drawn))


def _has_track(rules: Rules) -> bool:
    return rules.most_height <= _LONGEST_TRACKS[rules.towers]


def _draw_track(rules: Rules, width: float) -> Panel:
    """Draw the heights that a tower can have, the target in a thick frame."""
    columns, cells = int(width / _TRACK_CELL), []
    for height in range(rules.most_height + 1):
        x, y, is_target = (
            height % columns * _TRACK_CELL,
            height // columns * _TRACK_CELL,
            height == rules.target,
        )
        inset, thick, weight = (0.4, 0.9, 700) if is_target else (0.0, 0.25, 400)
        side, middle = _TRACK_CELL - 2 * inset, x + _TRACK_CELL / 2
        box = draw_box(x + inset, y + inset, side, side, thick=thick)
        label = draw_text(
            str(height), middle, y + 4.6, size=_SMALL, weight=weight, text_anchor="middle"
        )
        cells.append(make_element("g", box, label, class_="height", data_height=height))
    return Panel((rules.most_height // columns + 1) * _TRACK_CELL, "".join(cells))


def _draw_notes(_: Rules, width: float) -> Panel:
    """Draw empty boxes to write heights into."""
    columns = range(int(width / _NOTE_WIDTH))
    places = [
        (column * _NOTE_WIDTH, row * _NOTE_HEIGHT)
        for row in range(_NOTE_ROWS)
        for column in columns
    ]
    return Panel(
        _NOTE_ROWS * _NOTE_HEIGHT,
        "".join(draw_box(x, y, _NOTE_WIDTH, _NOTE_HEIGHT) for x, y in places),
    )


# Blocks ---------------------------------------------------------------------------------------------------------------


def _plan_blocks(
    rules: Rules, voice: Voice, width: float, room: float
) -> tuple[_Grid, list[_BlockSet]]:
    """Choose the largest blocks that there is room for, and of an endless supply how many there are of each."""
    owners = (0, 1) if rules.supply == "own" else (None,)
    capacities: dict[_Grid, int] = {}
    for grid in _list_grids(rules, width):
        left = room - _draw_towers(rules, voice, width, grid).height - len(owners) * _SET_HEAD
        capacities[grid] = max(0, int(left / grid.height) // len(owners)) * grid.columns
    most = max(capacities.values())
    if len(rules.blocks) > most:
        raise SheetError(most, len(rules.blocks), each=len(owners) > 1)
    numbers = _copy_blocks(
        rules,
        max((fit for grid, fit in capacities.items() if grid.height >= _COMFORTABLE), default=0),
    )
    grid = next(grid for grid, fit in capacities.items() if fit >= len(numbers))
    rows = grid.count_rows(len(numbers))
    grid = grid._replace(columns=-(-len(numbers) // rows))
    if rules.supply != "endless":
        return grid, [_BlockSet(owner, _name_set(rules, voice, owner), numbers) for owner in owners]
    title = "Take what you like."
    if len(numbers) < sum(_count_useful(rules, block) for block in rules.blocks):
        numbers += [None] * (rows * grid.columns - len(numbers))
        remedy = (
            f"write it on an empty {voice.noun}" if None in numbers else "print this page once more"
        )
        title += f" If one runs out, {remedy}."
    return grid, [_BlockSet(None, title, numbers)]


def _list_grids(rules: Rules, width: float) -> Iterator[_Grid]:
    """Yield grids of blocks, the largest blocks first; a block is at least as wide as the longest number."""
    longest = len(str(rules.blocks[-1])) * svg.DIGIT_WIDTH * _SMALLEST_NUMBER / _FACE
    height = _LARGEST
    while height >= _SMALLEST:
        side = max(height, longest)
        yield _Grid(int(width / side), side, height)
        height -= _STEP


def _copy_blocks(rules: Rules, room: int) -> list[int | None]:
    """Return the blocks of a set: of an endless supply each as often as it can be used, as far as there is room."""
    useful = [_count_useful(rules, block) for block in rules.blocks]
    copies = max(1, min(max(useful), room))
    while copies > 1 and sum(min(copies, count) for count in useful) > room:
        copies -= 1
    return [
        block
        for block, count in zip(rules.blocks, useful, strict=True)
        for _ in range(min(copies, count))
    ]


def _count_useful(rules: Rules, block: int) -> int:
    """Return how many copies of a block a set needs at most."""
    if rules.supply != "endless":
        return 1
    each = 1 if rules.fit == "ascending" or rules.target is None else max(1, rules.target // block)
    return each * (2 if rules.towers == "own" else 1)


def _name_set(rules: Rules, voice: Voice, owner: int | None) -> str:
    count = format_count(len(rules.blocks), voice.noun)
    return f"The pool: {count}" if owner is None else f"{voice.players[owner]}: {count}"


def _draw_set(blocks: _BlockSet, rules: Rules, grid: _Grid, width: float) -> Panel:
    """Draw the blocks of a set side by side, with dashed lines along which they are cut out."""
    drawn = [
        _draw_heading(blocks.title, width, blocks.owner, y=2),
        _draw_cuts(len(blocks.numbers), grid),
    ]
    for place, block in enumerate(blocks.numbers):
        x, y = place % grid.columns * grid.width, _SET_HEAD + place // grid.columns * grid.height
        drawn.append(move_group(x, y, _draw_block(block, blocks.owner, rules, grid)))
    height = _SET_HEAD + grid.count_rows(len(blocks.numbers)) * grid.height
    return Panel(height, make_element("g", *drawn, class_="set"))


def _draw_block(block: int | None, owner: int | None, rules: Rules, grid: _Grid) -> str:
    """Draw a block; a number that reads as another block of the game upside down is underlined."""
    inset = _INSET * grid.height
    width, height = grid.width - 2 * inset, grid.height - 2 * inset
    drawn = [
        draw_box(inset, inset, width, height, rx=height / 2 if owner == 1 else None, thick=0.7)
    ]
    if block is not None:
        text = str(block)
        size = min(0.5 * grid.height, _FACE * grid.width / (svg.DIGIT_WIDTH * len(text)))
        x, y = grid.width / 2, grid.height / 2 + 0.36 * size
        drawn.append(draw_text(text, x, y, size=size, weight=700, text_anchor="middle"))
        if _reads_as_another(text, rules):
            wide = svg.measure_text(text, size)
            drawn.append(
                make_element(
                    "rect", x=x - wide / 2, y=y + 0.1 * size, width=wide, height=0.06 * size
                )
            )
    seat = None if owner is None else owner + 1
    return make_element("g", *drawn, class_="block", data_block=block or "", data_seat=seat)


def _reads_as_another(text: str, rules: Rules) -> bool:
    turned = text.translate(_UPSIDE_DOWN)[::-1]
    return (
        set(text) <= set("01689") and turned != text and turned[0] != "0" and rules.has(int(turned))
    )


def _draw_cuts(count: int, grid: _Grid) -> str:
    """Draw dashed lines around blocks in rows, of which the last may be shorter."""
    rows = grid.count_rows(count)
    last = count - (rows - 1) * grid.columns
    lines = []
    for row in range(rows + 1):
        end = last if row == rows else grid.columns
        lines.append(f"M0 {number(_SET_HEAD + row * grid.height)}h{number(end * grid.width)}")
    for column in range(grid.columns + 1):
        end = rows if column <= last else rows - 1
        lines.append(
            f"M{number(column * grid.width)} {number(_SET_HEAD)}v{number(end * grid.height)}"
        )
    style = {"fill": "none", "stroke": INK, "stroke_width": 0.25, "stroke_dasharray": "2 1.5"}
    return make_element("path", class_="cut", d="".join(lines), **style)
