"""What a report says, from the result in a sentence to the small print."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from number_tower.evaluation.report import about, tables
from number_tower.evaluation.report.about import LONGEST, SPEC
from number_tower.evaluation.report.blunders import blunder
from number_tower.evaluation.report.document import Code, Document, Heading, Items, Paragraph, Picture, Strong
from number_tower.showing import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from number_tower.evaluation.estimates import Estimate
    from number_tower.evaluation.report.charting import Plot
    from number_tower.evaluation.report.document import Piece, Words
    from number_tower.evaluation.report.tables import Named
    from number_tower.evaluation.scoring import Scores

_MOST_BLUNDERS = 12
_EACH = 2
"""Examples in all, and of one player."""


def labels(scores: Scores) -> list[str]:
    """Return what the players are called: as they were named, cut where that is long, and no two the same."""
    found: list[str] = []
    for place, score in enumerate(scores.players, 1):
        name = shown_text(score.player, SPEC)
        if len(name) > LONGEST:
            name = f"{name[: LONGEST // 2 - 1]}…{name[-LONGEST // 2 :]}"
        found.append(name if name not in found else f"{name} ({place})")
    return found


def told(scores: Scores, pictures: Sequence[Plot], command: str | None) -> Document:
    """Put the whole report together."""
    named = list(zip(labels(scores), scores.players, strict=True))
    shown = {picture.name: Picture(picture) for picture in pictures}
    return Document("Number Tower evaluation", tuple(_pieces(scores, named, shown, command)))


def _pieces(scores: Scores, named: Named, shown: Mapping[str, Picture], command: str | None) -> Iterator[Piece]:
    def pictures(*names: str) -> Iterator[Piece]:
        return (shown[name] for name in names if name in shown)

    yield _summary(named)
    yield Heading("The players")
    yield tables.everybody(named)
    yield from pictures("regret", "results")
    yield Heading("How to read it")
    yield from about.how_to_read()
    yield Heading("Illegal answers")
    yield about.answers(scores.suite)
    if any(score.overall.troubled.mean for _, score in named):
        yield tables.illegal(named)
        yield tables.reasons(named)
        yield from _failures(named)
    else:
        yield Paragraph("Nobody gave an illegal answer.")
    yield from pictures("illegal")
    yield Heading("In parts")
    yield tables.by_kind(named)
    yield tables.by_seat(named)
    yield from pictures("plies", "games")
    if len(scores.suite.games) > 1:
        yield tables.by_game(scores, named)
    if any(pair.difference.number for pair in scores.pairs):
        yield Heading("One beside the next")
        yield Paragraph(_COMPARED)
        yield tables.compared(named, _differences(scores))
    if examples := tuple(_examples(scores, named)):
        yield Heading("What was lost, for example")
        yield Paragraph(_EXAMPLES)
        yield Items(examples)
    yield Heading("What was asked")
    yield from about.asked(scores, command)
    yield Heading("The games")
    yield from about.games(scores.suite)
    yield Heading("How sure it is, and what it does not say")
    yield Items(tuple(about.limits(scores)))


_COMPARED = (
    "All players were asked about the same positions, so they can be compared position by position. Where the interval "
    "does not hold 0, their order is hardly chance."
)

_EXAMPLES = (
    "The largest losses of each player, and of these first those where a guess would most often have been right. The "
    "command at the end of each shows what every block was worth."
)


def _summary(named: Named) -> Paragraph:
    known = [(name, score.overall) for name, score in named if score.overall.regret.number]
    if not known:
        return Paragraph("Nobody met a decision that counts, so nothing can be said about the value lost.")
    name, best = known[0]
    first: tuple[str, ...] = (Code(name), f" lost {_lost(best.regret)} per decision that counts")
    if len(known) == 1:
        return Paragraph((*first, f"; a blind guess at the same decisions loses {best.guessing or 0.0:.3f}."))
    last, worst = known[-1]
    least = "" if known[1][1].regret.mean == best.regret.mean else ", the least"
    most = "" if known[-2][1].regret.mean == worst.regret.mean else ", the most"
    guess = f". A blind guess at the same decisions as the latter's loses {worst.guessing or 0.0:.3f}."
    return Paragraph((*first, f"{least}; ", Code(last), f" lost {_lost(worst.regret)}{most}", guess))


def _failures(named: Named) -> Iterator[Piece]:
    """Say of whom answers failed to come, and why at first: that need not be what a player is like."""
    failing = [(name, score) for name, score in named if score.failure is not None]
    if failing:
        yield Paragraph(
            "Some answers did not come at all, since the player failed, was too slow or ended. They count as illegal. "
            "How often, and what the problem was at first:"
        )
        yield Items(
            tuple(
                (
                    Code(name),
                    f": {about.counted(score.reasons['failed'], 'time')}; ",
                    Code(shown_text(score.failure or "")),
                )
                for name, score in failing
            )
        )


def _lost(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} points (95%: {estimate.low:.3f} to {estimate.high:.3f})"


def _differences(scores: Scores) -> list[Estimate]:
    return [scores.pair(one.player, other.player).difference for one, other in pairwise(scores.players)]


def _examples(scores: Scores, named: Named) -> Iterator[Words]:
    erring = [(name, score) for name, score in named if score.worst][:_MOST_BLUNDERS]
    for name, score in erring:
        for found in score.worst[: max(1, min(_EACH, _MOST_BLUNDERS // len(erring)))]:
            yield (Strong(name), ": ", *blunder(scores.suite, found))
