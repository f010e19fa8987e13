"""What a report says, from the result in a sentence to the small print."""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from number_tower.coach.hints import format_reason
from number_tower.coach.reasons import explain_move, find_best_reason
from number_tower.evaluation.report import about, tables
from number_tower.evaluation.report.about import MAX_NAME, MAX_SPEC
from number_tower.evaluation.report.document import CodeText, Document, Heading, Items, Paragraph, Picture, StrongText
from number_tower.game import Game
from number_tower.players.knowledge import get_knowledge
from number_tower.prompt import format_blocks
from number_tower.record import to_line
from number_tower.solve.limits import NotSolvedError
from number_tower.text import format_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from number_tower.coach.reasons import Reason
    from number_tower.evaluation.intervals import Estimate
    from number_tower.evaluation.report.document import DocumentPiece, Words
    from number_tower.evaluation.report.sheet import Plot
    from number_tower.evaluation.report.tables import Named
    from number_tower.evaluation.scores import Blunder, Scores
    from number_tower.evaluation.suite import Suite
    from number_tower.solve.solution import Solution

_MAX_BLUNDERS = 12


_MAX_BLUNDERS_EACH = 2
"""Examples in all, and of one player."""


def label_players(scores: Scores) -> list[str]:
    """Return what the players are called: as they were named, cut where that is long, and no two the same."""
    found: list[str] = []
    for place, score in enumerate(scores.players, 1):
        name = format_text(score.player, MAX_SPEC)
        if len(name) > MAX_NAME:
            name = f"{name[: MAX_NAME // 2 - 1]}…{name[-MAX_NAME // 2 :]}"
        found.append(name if name not in found else f"{name} ({place})")
    return found


def build_document(scores: Scores, pictures: Sequence[Plot], command: str | None) -> Document:
    """Put the whole report together."""
    named = list(zip(label_players(scores), scores.players, strict=True))
    shown = {picture.name: Picture(picture) for picture in pictures}
    return Document("Number Tower evaluation", tuple(_build_pieces(scores, named, shown, command)))


def _build_pieces(
    scores: Scores, named: Named, shown: Mapping[str, Picture], command: str | None
) -> Iterator[DocumentPiece]:
    def pictures(*names: str) -> Iterator[DocumentPiece]:
        return (shown[name] for name in names if name in shown)

    yield _summarize(named)
    yield Heading("The players")
    yield tables.make_overview(named)
    yield from pictures("regret", "results")
    yield Heading("How to read it")
    yield from about.explain_figures()
    yield Heading("Illegal answers")
    yield about.describe_illegal_answers(scores.suite)
    if any(score.overall.troubled.mean for _, score in named):
        yield tables.make_illegal_table(named)
        yield tables.make_reason_table(named)
        yield from _describe_failures(named)
    else:
        yield Paragraph("Nobody gave an illegal answer.")
    yield from pictures("illegal")
    yield Heading("In parts")
    yield tables.make_kind_table(named)
    yield tables.make_seat_table(named)
    yield from pictures("plies", "games")
    if len(scores.suite.games) > 1:
        yield tables.make_game_table(scores, named)
    if any(pair.difference.number for pair in scores.pairs):
        yield Heading("One beside the next")
        yield Paragraph(_COMPARED)
        yield tables.make_comparison(named, _list_differences(scores))
    if examples := tuple(_describe_examples(scores, named)):
        yield Heading("What was lost, for example")
        yield Paragraph(_EXAMPLES)
        yield Items(examples)
    yield Heading("What was asked")
    yield from about.describe_tasks(scores, command)
    yield Heading("The games")
    yield from about.describe_games(scores.suite)
    yield Heading("How sure it is, and what it does not say")
    yield Items(tuple(about.describe_limits(scores)))


_COMPARED = (
    "All players were asked about the same positions, so they can be compared position by position. Where the interval "
    "does not hold 0, their order is hardly chance."
)


_EXAMPLES = (
    "The largest losses of each player, and of these first those where a guess would most often have been right. The "
    "command at the end of each shows what every block was worth."
)


def _summarize(named: Named) -> Paragraph:
    known = [(name, score.overall) for name, score in named if score.overall.regret.number]
    if not known:
        return Paragraph("Nobody met a decision that counts, so nothing can be said about the value lost.")
    name, best = known[0]
    first: tuple[str, ...] = (CodeText(name), f" lost {_format_loss(best.regret)} per decision that counts")
    if len(known) == 1:
        return Paragraph((*first, f"; a blind guess at the same decisions loses {best.guessing or 0.0:.3f}."))
    last, worst = known[-1]
    least = "" if known[1][1].regret.mean == best.regret.mean else ", the least"
    most = "" if known[-2][1].regret.mean == worst.regret.mean else ", the most"
    guess = f". A blind guess at the same decisions as the latter's loses {worst.guessing or 0.0:.3f}."
    return Paragraph((*first, f"{least}; ", CodeText(last), f" lost {_format_loss(worst.regret)}{most}", guess))


def _describe_failures(named: Named) -> Iterator[DocumentPiece]:
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
                    CodeText(name),
                    f": {about.counted(score.reasons['failed'], 'time')}; ",
                    CodeText(format_text(score.failure or "")),
                )
                for name, score in failing
            )
        )


def _format_loss(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} points (95%: {estimate.low:.3f} to {estimate.high:.3f})"


def _list_differences(scores: Scores) -> list[Estimate]:
    return [scores.pair(one.player, other.player).difference for one, other in pairwise(scores.players)]


def _describe_examples(scores: Scores, named: Named) -> Iterator[Words]:
    erring = [(name, score) for name, score in named if score.worst][:_MAX_BLUNDERS]
    for name, score in erring:
        for found in score.worst[: max(1, min(_MAX_BLUNDERS_EACH, _MAX_BLUNDERS // len(erring)))]:
            yield (StrongText(name), ": ", *describe_blunder(scores.suite, found))


_MAX_ANSWER = 60


_MAX_BLUNDER_COMMAND = 2000


_MAX_MOVES = 12


_FEW = 4


_POINTS = {1.0: "win", 0.5: "draw", 0.0: "loss"}


def describe_blunder(suite: Suite, found: Blunder) -> tuple[str, ...]:
    """Tell of a decision, to follow who made it."""
    task, decision = found
    table = suite.get_entry(task).table
    game = Game(table.game.rules, moves=decision.moves)
    where = f"as player {game.to_move + 1} {_describe_moves(game)}, it "
    best = max((decision.values or {0: 0.0}).values())
    kept = [block for block, points in (decision.values or {}).items() if points == best]
    solution = get_knowledge(game.rules).solve(game.position)
    right = f" {_list_blocks(kept)} would have kept the {_POINTS[best]}{_explain_best(solution)}."
    line = to_line(replace(table, game=game), files=True)
    command = CodeText(format_text(f"tower solve {shlex.quote(line)}", _MAX_BLUNDER_COMMAND))
    return (where, *_describe_answer(found, solution, best), right, " ", command)


def _list_blocks(blocks: list[int]) -> str:
    return format_blocks(blocks) if len(blocks) > _FEW else " or ".join(map(str, blocks))


def _describe_moves(game: Game) -> str:
    if not game.moves:
        return "before any move"
    some = game.moves[-_MAX_MOVES:]
    return f"after {'... ' if len(some) < len(game.moves) else ''}{', '.join(map(str, some))}"


def _describe_answer(found: Blunder, solution: Solution | None, best: float) -> tuple[str, ...]:
    decision = found.decision
    if decision.block is None:
        last = decision.attempts[-1].answer if decision.attempts else ""
        said = ("said nothing", "") if not last.strip() else ("said ", CodeText(format_text(last.strip(), _MAX_ANSWER)))
        return (*said, f" and gave no legal answer, which lost the {_POINTS[best]}.")
    value = (decision.values or {})[decision.block]
    became = f"made a {_POINTS[best]} a {_POINTS[value]}"
    reason = None if solution is None else _find_reason(solution, decision.block)
    how = "" if reason is None or value == 0.5 else f": {decision.block} {_format_reason(reason)}"
    return (f"placed {decision.block} and {became}{how}.",)


def _explain_best(solution: Solution | None) -> str:
    if solution is None:
        return ""
    try:
        reason = find_best_reason(solution)
    except NotSolvedError:
        return ""
    return f": {reason.block} {_format_reason(reason)}"


def _find_reason(solution: Solution, block: int) -> Reason | None:
    try:
        return explain_move(solution, block)
    except NotSolvedError:
        return None


def _format_reason(reason: Reason) -> str:
    return format_reason(reason, player=f"player {reason.mover + 1}", opponent=f"player {2 - reason.mover}")
