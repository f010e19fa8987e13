"""A reviewed game as an HTML page: every move, the tower after it, and who then wins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from number_tower.coach.review import GameReview, ReviewText
from number_tower.drawing.renderer import render
from number_tower.drawing.towers import draw_towers
from number_tower.engine.table import Table
from number_tower.words.brief import has_height

_MAX_SCALED_BLOCKS, _MAX_BLOCKS = 30, 12
"""Blocks of a tower that are drawn one by one beside a move, where heights count and elsewhere; the
others are one."""


class _Block(NamedTuple):
    """A block of a lying tower, its width in percent; `seat` is None for the lower part."""

    number: int
    width: float
    seat: int | None = None


def draw_review(review: GameReview, text: ReviewText, title: str) -> str:
    """Write a reviewed game as a page that needs no other file.

    Examples:
        >>> from number_tower.coach.review import ReviewText, review
        >>> judged = review(nt.Game(nt.Rules(target=15), moves=(9, 5, 1)))
        >>> draw_review(judged, ReviewText(("Ann", "Ben")), "Ann and Ben").count('class="move')
        3
    """
    told = [text.format_standing(review), text.format_turning_point(review)]
    if review.moves:
        told += [text.format_accuracy(review, seat) for seat in (0, 1)]
    told += [text.explain_accuracy(review), text.format_unsolved(review)]
    return render(
        "review.html",
        title=title.rstrip(":"),
        headline=text.format_headline(review),
        names=text.names,
        towers=draw_towers(Table(review.game), text.names),
        start=review.values[0],
        turning_point=review.turning_point,
        rows=list(_list_rows(review, text)),
        summary=[*filter(None, told)],
        has_mistakes=bool(review.mistakes),
    )


def _list_rows(review: GameReview, text: ReviewText) -> Iterator[dict[str, object]]:
    rules, introduced = review.game.rules, set[str]()
    shared = rules.towers == "shared"
    for move, value in zip(review.moves, review.values[1:], strict=True):
        tower = [
            (earlier.block, earlier.player)
            for earlier in review.moves[: move.ply]
            if shared or earlier.player == move.player
        ]
        if has_height(rules):
            most, whole = _MAX_SCALED_BLOCKS, max(rules.target or 0, *review.game.heights)
            widths = [100 * number / whole for number, _ in tower]
            lower_width = sum(widths[:-most])
        else:
            most, lower_width = _MAX_BLOCKS, 100 / (_MAX_BLOCKS + 1)
            widths = [lower_width] * len(tower)
        blocks = [
            _Block(number, width, seat) for (number, seat), width in zip(tower, widths, strict=True)
        ]
        if len(blocks) > most:
            blocks[:-most] = [_Block(len(blocks) - most, lower_width)]
        remarks = list(text.list_remarks(move, introduced))
        yield {"move": move, "value": value, "blocks": blocks, "remarks": remarks}
