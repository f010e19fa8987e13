"""The towers of a game drawn as they grew: in every column the block just placed, and those beneath it paler."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.picture.sheet import (
    INK,
    MUTED,
    PART,
    SMALL,
    SMALLEST,
    STYLES,
    Piece,
    Plan,
    beside,
    rule,
    shortened,
    swatch,
    written,
)  # fmt: skip
from number_tower.coach.picture.svg import element, number, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.coach.review import Judged, Review
    from number_tower.coach.telling import Telling
    from number_tower.game import Game

_HEADROOM = 22.0
_TALL, _SHORT, _STOREY = 280.0, 180.0, 24.0
_FLATTEST = 6.0
"""How flat the largest block may become before a target that is far away is left out of the picture."""

_NUMBERED = 17
"""Columns up to which the earlier blocks, too, have their numbers."""


class _Storey(NamedTuple):
    """A block where it came to lie: how high it stands, and how tall it is."""

    move: Judged
    base: int
    tall: int


class _Site(NamedTuple):
    """Where a tower stands: its columns, where the ground is, and how much taller one more makes it."""

    plan: Plan
    ground: float
    unit: float

    @property
    def wide(self) -> float:
        """How wide a block is."""
        return PART * self.plan.column

    def top(self, storey: _Storey) -> float:
        """Return where a block ends above."""
        return self.ground - self.unit * (storey.base + storey.tall)


def towers(review: Review, telling: Telling, plan: Plan) -> Iterator[Piece]:
    """Draw the tower that the players share, or each player's own."""
    unit, area = _measure(review)
    site = _Site(plan, _HEADROOM + area, unit)
    for seats in _owners(review.game):
        drawn = [] if len(seats) == 2 else [_owner(telling, plan, seats[0], _HEADROOM + area / 2)]
        storeys = _storeys(review, seats)
        for ply in range(1, plan.columns):
            drawn += _earlier([storey for storey in storeys if storey.move.ply < ply], ply, site)
            drawn += [_block(storey, telling, site) for storey in storeys if storey.move.ply == ply]
        drawn.append(rule(plan, site.ground, INK, 1.5, "ground"))
        drawn += _target(review, site)
        name = "tower shared" if len(seats) == 2 else f"tower seat-{seats[0] + 1}"
        yield Piece(site.ground + 14, element("g", *drawn, class_=name))


def counts_height(game: Game) -> bool:
    """Say whether a tower's height decides anything; elsewhere towers are as tall as they have blocks."""
    return game.rules.target is not None or (game.rules.stuck == "skips" and game.rules.towers == "own")


def aim(review: Review) -> list[str]:
    """Return what is written at the height to be reached, if there is one."""
    target = review.game.rules.target
    return [] if target is None else [f"target {target}"]


def _owners(game: Game) -> list[tuple[int, ...]]:
    return [(0, 1)] if game.rules.towers == "shared" else [(0,), (1,)]


def _storeys(review: Review, seats: tuple[int, ...]) -> list[_Storey]:
    moves = [move for move in review.moves if move.player in seats]
    talls = [move.block if counts_height(review.game) else 1 for move in moves]
    return [_Storey(*each) for each in zip(moves, [0, *accumulate(talls)], talls, strict=False)]


def _measure(review: Review) -> tuple[float, float]:
    """Return how much taller one more makes a tower, and how tall it can become: the target, where it can be seen."""
    all_storeys = [storey for seats in _owners(review.game) for storey in _storeys(review, seats)]
    tallest = max((storey.base + storey.tall for storey in all_storeys), default=1)
    if not counts_height(review.game):
        unit = min(_STOREY, 1.5 * _TALL / tallest)
        return unit, max(3 * _STOREY, tallest * unit)
    area = _TALL if review.game.rules.towers == "shared" else _SHORT
    target = review.game.rules.target
    largest = max((storey.tall for storey in all_storeys), default=target or 1)
    if target is not None and (target <= 2 * tallest or target * _FLATTEST <= area * largest):
        return area / target, area
    return area / tallest, area


def _earlier(standing: list[_Storey], ply: int, site: _Site) -> Iterator[str]:
    """Draw the blocks that lay there before a move, those of each player in one stroke; in a long game, all in one."""
    if not standing:
        return
    plan = site.plan
    if plan.dense:
        whole = _Storey(standing[0].move, 0, standing[-1].base + standing[-1].tall)
        yield element("path", class_="earlier", d=_outline(whole, ply, site), fill="#dfe5ec")
        return
    for seat, style in enumerate(STYLES):
        outline = "".join(_outline(storey, ply, site) for storey in standing if storey.move.player == seat)
        if outline:
            name = f"earlier seat-{seat + 1}"
            yield element("path", class_=name, d=outline, fill=style.faint, stroke=style.faint_edge)
    for storey in standing if plan.columns <= _NUMBERED else []:
        tall = site.unit * storey.tall
        size = min(0.8 * plan.size, tall - 2)
        if size >= SMALLEST:
            y = site.top(storey) + tall / 2 + 0.36 * size
            yield written(str(storey.move.block), plan.middle(ply), y, size=size, fill=MUTED, text_anchor="middle")


def _outline(storey: _Storey, ply: int, site: _Site) -> str:
    corner = f"{number(site.plan.middle(ply) - site.wide / 2)} {number(site.top(storey))}"
    return f"M{corner}h{number(site.wide)}v{number(site.unit * storey.tall)}h{number(-site.wide)}z"


def _block(storey: _Storey, telling: Telling, site: _Site) -> str:
    """Draw a block in the column of its move, with its number in it or, if it is too flat, above it."""
    move, plan = storey.move, site.plan
    style = STYLES[move.player]
    tall, x, y = site.unit * storey.tall, plan.middle(move.ply), site.top(storey)
    box = element(
        "rect", x=x - site.wide / 2, y=y, width=site.wide, height=tall,
        rx=min(style.corner, tall / 2, site.wide / 3) or None,
        fill=style.fill, stroke=style.edge, stroke_width=0.3 if plan.dense else 1.5,
    )  # fmt: skip
    label = ""
    if plan.size:
        inside = tall >= plan.size + 1
        at, ink = (y + tall / 2 + 0.36 * plan.size, style.ink) if inside else (y - 5, INK)
        label = written(str(move.block), x, at, size=plan.size, weight=700, fill=ink, text_anchor="middle")
    about = element("title", words(f"Move {move.ply}, {telling.names[move.player]}: {move.block}{move.mark}"))
    name = f"block seat-{move.player + 1}"
    return element("g", about, box, label, class_=name, data_ply=move.ply, data_block=move.block)


def _owner(telling: Telling, plan: Plan, seat: int, y: float) -> str:
    """Say beside a tower whose it is."""
    name = beside(plan, y + 16, shortened(telling.names[seat]))
    return element("g", swatch(seat, plan.left - 20, y - 4), name, class_="owner")


def _target(review: Review, site: _Site) -> Iterator[str]:
    y = site.ground - site.unit * (review.game.rules.target or 0)
    for label in aim(review):
        if y > 0:
            yield rule(site.plan, y, INK, 1.2, "target", dash="6 4")
            yield beside(site.plan, y + 4, label)
        else:
            yield beside(site.plan, 16, label)
            yield beside(site.plan, 18 + SMALL, "far above", MUTED)
