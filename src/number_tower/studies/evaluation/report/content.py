"""The text and tables of a report: the result, examples, how to read it, the games, and its limits."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from number_tower import __version__
from number_tower.arena.schedule import GameEntry
from number_tower.brief import describe_rules
from number_tower.coach.reasons import Reason, find_best_reason, find_reason
from number_tower.coach.sentences import format_sentence
from number_tower.document import (
    escape,
    format_code,
    format_command,
    format_image,
    format_items,
    format_table,
)
from number_tower.evaluation import BASELINES
from number_tower.evaluation.intervals import Estimate, format_points, format_share
from number_tower.evaluation.report.charts import (
    MAX_NAME,
    MAX_SPEC,
    Chart,
    Named,
)
from number_tower.evaluation.scores import (
    KINDS,
    REASON_WORDS,
    REASONS,
    Blunder,
    PlayerScore,
    Scores,
)
from number_tower.evaluation.suite import Suite
from number_tower.game import Game
from number_tower.players.knowledge import get_knowledge
from number_tower.prompt import format_blocks
from number_tower.record import to_line
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.solution import Solution
from number_tower.text import format_count, format_text

_MAX_COMMAND = 4000

_VALUE = (
    "Every position is worth a win (1 point), a draw (1/2) or a loss (0) to the player to move, if both play their "
    "best from there on. The solver knows which, exactly. A decision loses the difference between the best block and "
    "the one that was placed. That is the value lost, also called regret."
)

_TERMS = {
    "Points lost per decision": "the mean over the decisions that count: those where the legal blocks "
    "differ in value, and those where no legal answer came and something was lost. 0 is perfect.",
    "A blind guess": "what any legal block at random would lose on average at the same decisions.",
    "Right decisions": "the share of these decisions at which nothing was lost.",
    "Points per game": "against the opponent; a win counts 1, a draw 1/2.",
    "95%": "with very many such decisions, games or answers, the result would lie in this interval "
    "95 times in 100.",
}

_MAX_BLUNDERS = 12
_MAX_BLUNDERS_EACH = 2
"""The number of examples, in all and of one player."""


def build_parts(
    scores: Scores, named: Named, charts: Mapping[str, Chart], command: str | None
) -> Iterator[str]:
    """Yield the whole report in Markdown, paragraph by paragraph."""

    def show(*names: str) -> Iterator[str]:
        for chart in [charts[name] for name in names if name in charts]:
            yield format_image(chart.file, chart.title, chart.description, escape(chart.caption))

    yield _summarize(named)
    yield "## The players"
    yield _make_table("All players, the best first", _OVERVIEW, named, _write_overview)
    yield from show("regret", "results")
    yield "## How to read it"
    yield _VALUE
    yield format_items(f"**{term}**: {meaning}" for term, meaning in _TERMS.items())
    yield "## Illegal answers"
    yield describe_illegal_answers(scores.suite)
    if any(score.overall.troubled.mean for _, score in named):
        yield _make_table("Illegal answers and forfeits", _ILLEGAL, named, _write_illegal)
        yield _make_reason_table(named)
        yield from _describe_failures(named)
    else:
        yield "Nobody gave an illegal answer."
    yield "## In parts"
    kinds = "Points lost per decision, in whole games and in single positions"
    yield _make_table(kinds, _KINDS, named, _write_kinds)
    seats = "By seat; seat 1 starts: points lost per decision, and points per game"
    yield _make_table(seats, _SEATS, named, _write_seats)
    yield from show("plies")
    if len(scores.suite.games) > 1:
        yield _make_game_table(scores, named)
    if any(pair.difference.number for pair in scores.pairs):
        yield "## Comparison at the same positions"
        yield (
            "All players were asked about the same positions, so they can be compared position by position. Where the "
            "interval does not contain 0, the difference is unlikely to be chance."
        )
        yield _make_comparison(scores, named)
    if examples := tuple(_describe_examples(scores, named)):
        yield "## The worst mistakes"
        yield (
            "The largest losses of each player; among equals, those where a guess would most often have been right. "
            "The command at the end of each shows what every block was worth."
        )
        yield format_items(examples)
    yield "## The tasks"
    yield from describe_tasks(scores, command)
    yield "## The games"
    yield from describe_games(scores.suite)
    yield "## How reliable this is"
    yield format_items(describe_limits(scores))


def _summarize(named: Named) -> str:
    known = [(name, score.overall) for name, score in named if score.overall.regret.number]
    if not known:
        return "No player met a decision that counts, so nothing can be said about the value lost."
    name, best = known[0]
    first = f"{format_code(name)} lost {_format_loss(best.regret)} per decision that counts"
    if len(known) == 1:
        guess = best.guessing or 0.0
        return f"{first}; a blind guess at the same decisions loses {guess:.3f}."
    last, worst = known[-1]
    least = "" if known[1][1].regret.mean == best.regret.mean else ", the least"
    most = "" if known[-2][1].regret.mean == worst.regret.mean else ", the most"
    return (
        f"{first}{least}; {format_code(last)} lost {_format_loss(worst.regret)}{most} "
        f"(a blind guess at the same decisions loses {worst.guessing or 0.0:.3f})."
    )


def _describe_failures(named: Named) -> Iterator[str]:
    """List the players with missing answers, and the first problem of each, which may not be their fault."""
    failing = [(name, score) for name, score in named if score.failure is not None]
    if failing:
        yield (
            "Some answers did not come at all, because the player failed, was too slow or stopped. They count as "
            "illegal. How often, and the first problem of each player:"
        )
        items = []
        for name, score in failing:
            times = format_count(score.reasons["failed"], "time")
            problem = format_code(format_text(score.failure or ""))
            items.append(f"{format_code(name)}: {times}; {problem}")
        yield format_items(items)


def _format_loss(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} points (95%: {estimate.low:.3f} to {estimate.high:.3f})"


def _describe_examples(scores: Scores, named: Named) -> Iterator[str]:
    erring = [(name, score) for name, score in named if score.worst][:_MAX_BLUNDERS]
    for name, score in erring:
        for found in score.worst[: max(1, min(_MAX_BLUNDERS_EACH, _MAX_BLUNDERS // len(erring)))]:
            yield f"**{escape(name)}**: {describe_blunder(scores.suite, found)}"


_MAX_ANSWER = 60
_MAX_BLUNDER_COMMAND = 2000
_MAX_MOVES = 12
_FEW = 4
_POINTS = {1.0: "win", 0.5: "draw", 0.0: "loss"}


def describe_blunder(suite: Suite, found: Blunder) -> str:
    """Describe a decision, to follow the player's name."""
    task, decision = found
    table = suite.games_by_text[task.game].table
    game = Game(table.game.rules, moves=decision.moves)
    cut = "... " if len(game.moves) > _MAX_MOVES else ""
    moves = ", ".join(map(str, game.moves[-_MAX_MOVES:]))
    when = f"after {cut}{moves}" if moves else "before any move"
    where = f"as Player {game.to_move + 1} {when}, it "
    best = max((decision.values or {0: 0.0}).values())
    kept = [block for block, points in (decision.values or {}).items() if points == best]
    solution = get_knowledge(game.rules).solve(game.position)
    blocks = format_blocks(kept) if len(kept) > _FEW else " or ".join(map(str, kept))
    right = f" {blocks} would have kept the {_POINTS[best]}.{_explain_best(solution)}"
    line = to_line(replace(table, game=game), files=True)
    command = format_text(f"tower solve {shlex.quote(line)}", _MAX_BLUNDER_COMMAND)
    return f"{where}{_describe_answer(found, solution, best)}{right} {format_code(command)}"


def _describe_answer(found: Blunder, solution: Solution | None, best: float) -> str:
    decision = found.decision
    if decision.block is None:
        last = decision.attempts[-1].answer.strip() if decision.attempts else ""
        said = f"said {format_code(format_text(last, _MAX_ANSWER))}" if last else "said nothing"
        return f"{said} and gave no legal answer, which lost the {_POINTS[best]}."
    value = (decision.values or {})[decision.block]
    became = f"placed {decision.block} and turned a {_POINTS[best]} into a {_POINTS[value]}."
    reason = None if solution is None else find_reason(solution, decision.block)
    return became if reason is None or value == 0.5 else f"{became} {_format_sentence(reason)}"


def _explain_best(solution: Solution | None) -> str:
    if solution is None:
        return ""
    try:
        reason = find_best_reason(solution)
    except NotSolvedError:
        return ""
    return f" {_format_sentence(reason)}"


def _format_sentence(reason: Reason) -> str:
    player, other = f"Player {reason.mover + 1}", f"Player {2 - reason.mover}"
    return escape(format_sentence(reason, other, "block", player=player))


# How it was made ------------------------------------------------------------------------------------------------------


def describe_tasks(scores: Scores, command: str | None) -> Iterator[str]:
    """Describe the tasks, and how to reproduce them."""
    suite = scores.suite
    against = escape(format_text(suite.against, MAX_NAME))
    made = f"{format_count(len(suite.games), 'game')} made from the seed"
    over = made if suite.fresh else format_count(len(suite.games), "named game")
    yield (
        f"Each player played {format_count(suite.number, 'game')} against {against}, "
        f"half of them in each seat, and moved in {format_count(len(suite.position_specs), 'position')} where the "
        f"legal blocks differ in value, reached by random play and the same for all players; spread over {over}. "
        f"Random seed {suite.seed}, Number Tower {__version__}."
    )
    if command is not None:
        yield "To repeat this evaluation (players that answer the same get the same report, to the byte):"
        yield format_command(format_text(command, _MAX_COMMAND))
    if cut := [score.player for score in scores.players if len(score.player) > MAX_NAME]:
        yield "The full names of players whose names were shortened:"
        yield format_items(format_code(format_text(player, MAX_SPEC)) for player in cut)


def describe_illegal_answers(suite: Suite) -> str:
    """Explain illegal answers and their consequences."""
    tries = "one try" if suite.tries == 1 else f"{suite.tries} tries"
    told = "were told" if suite.legal else "were not told"
    return (
        f"An answer is illegal if it names no block, or one that cannot be placed. Players had {tries} for "
        f"each decision and {told} which blocks may be placed. A player who gave no legal answer in these "
        "tries forfeited the game or the position, and lost everything it was worth; a lost position is "
        "worth nothing, so that does not count. Nothing else is left out of the numbers."
    )


def describe_games(suite: Suite) -> Iterator[str]:
    """Describe the rules of all games, and who wins them."""
    if suite.fresh:
        yield (
            "Their rules were chosen at random, so that no player can have learned them by heart, and balanced: if "
            "both play their best, the player who starts wins as many of them as the other player."
        )
    yield format_items(map(_describe_game, suite.games), numbered=True)


def _describe_game(entry: GameEntry) -> str:
    name = format_code(format_text(entry.text, MAX_SPEC))
    rules = escape(" ".join(describe_rules(entry.table.game.rules)))
    position = entry.table.game.position
    solution = get_knowledge(position.rules).solve(position)
    if solution is None:
        return f"{name}: {rules} **It is not known who wins.**"
    worth = solution.worth
    if worth.value == "draw":
        return f"{name}: {rules} **A draw, if both play their best.**"
    verb = "wins" if worth.value == "win" else "loses"
    plies = f" in {format_count(worth.plies, 'move')}" if worth.plies else ""
    return f"{name}: {rules} **The player who starts {verb}{plies}.**"


def describe_limits(scores: Scores) -> Iterator[str]:
    """Describe how reliable the figures are, and what they do not show."""
    fresh = scores.suite.fresh
    groups = "by the same rules" if fresh else "in two games with the same seed"
    yield (
        f"Decisions {groups} are not independent. So the intervals follow from how much such groups "
        "differ, with Student's quantile because there are few of them: Wilson's intervals for the number "
        "of independent decisions that would be just as uncertain; where the groups do not differ at all, "
        "for the number of groups. They measure chance and nothing else: a weakness that shows in few "
        "rules is missed if none of those rules was played."
    )
    if unknown := sum(score.overall.unknown for score in scores.players):
        decisions = format_count(unknown, "decision")
        yield f"{decisions} could not be judged within the solver's limits, and did not count."
    yield "A better player meets other decisions in games. Single positions are the same for all."
    yield (
        "Every decision weighs the same, and so does a mistake that the opponent did not punish. Points "
        "per game depend on the opponent; the value lost in single positions does not."
    )
    yield "Do not compare this with evaluations of another seed, other games, tries or prompts."
    if fresh:
        yield "The games follow from the seed: choose another for a player that may have seen them."


# Tables ---------------------------------------------------------------------------------------------------------------


def _make_table(
    caption: str, heads: Sequence[str], named: Named, write: Callable[[PlayerScore], list[str]]
) -> str:
    """Return a table with a row for each player."""
    rows = [[format_code(name), *write(score)] for name, score in named]
    return format_table(caption, ["player", *heads], rows)


_OVERVIEW = (
    "points lost per decision (95%)",
    "a blind guess",
    "right decisions (95%)",
    "decisions that count",
    "points per game (95%)",
    "games",
)


def _write_overview(score: PlayerScore) -> list[str]:
    figures = score.overall
    return [
        format_points(figures.regret),
        _format_mean(figures.guessing),
        format_share(figures.kept),
        f"{figures.regret.number:,}",
        format_points(figures.points),
        f"{figures.games:,}",
    ]


_ILLEGAL = (
    "illegal answers (95%)",
    "answers",
    "decisions with one (95%)",
    "decisions",
    "forfeits (95%)",
    "games and positions",
)


def _write_illegal(score: PlayerScore) -> list[str]:
    figures = score.overall
    return [
        format_share(figures.illegal),
        f"{figures.illegal.number:,}",
        format_share(figures.troubled),
        f"{figures.decisions:,}",
        format_share(figures.forfeits),
        f"{figures.tasks:,}",
    ]


_KINDS = ("in games (95%)", "decisions", "in positions (95%)", "decisions")


def _write_kinds(score: PlayerScore) -> list[str]:
    games, positions = (score.by_kind[kind].regret for kind in KINDS)
    return [
        format_points(games),
        f"{games.number:,}",
        format_points(positions),
        f"{positions.number:,}",
    ]


_SEATS = (
    "lost in seat 1 (95%)",
    "lost in seat 2 (95%)",
    "points in seat 1 (95%)",
    "points in seat 2 (95%)",
)


def _write_seats(score: PlayerScore) -> list[str]:
    first, second = score.by_seat
    return list(map(format_points, (first.regret, second.regret, first.points, second.points)))


def _make_reason_table(named: Named) -> str:
    """Return why answers were illegal."""
    reasons = [reason for reason in REASONS if any(reason in score.reasons for _, score in named)]
    rows = []
    for name, score in named:
        counts = [score.reasons.get(reason, 0) for reason in reasons]
        rows.append([format_code(name), *(f"{count:,}" for count in counts)])
    heads = ["player", *(REASON_WORDS[reason] for reason in reasons)]
    return format_table("Why answers were illegal", heads, rows)


def _make_game_table(scores: Scores, named: Named) -> str:
    """Return the loss of every player in every game; baselines come last."""
    shown = sorted(named, key=lambda item: item[1].player in BASELINES)
    rows = []
    for place, entry in enumerate(scores.suite.games, 1):
        label = format_code(str(place) if scores.suite.fresh else entry.text)
        means = [score.by_game[entry.text].regret.mean for _, score in shown]
        rows.append([label, *map(_format_mean, means)])
    heads = ["game", *(escape(name) for name, _ in shown)]
    return format_table("Points lost per decision in every game", heads, rows)


def _make_comparison(scores: Scores, named: Named) -> str:
    """Compare each player with the next at the same positions."""
    rows = []
    for (name, one), (other, next_one) in pairwise(named):
        found = scores.pair(one.player, next_one.player).difference
        more = "-"
        if found.mean is not None:
            mean, low, high = map(_format_signed, (-found.mean, -found.high, -found.low))
            more = f"{mean} ({low} to {high})"
        rows.append([format_code(name), format_code(other), more, f"{found.number:,}"])
    heads = ("player", "next player", "next player lost more by (95%)", "positions")
    return format_table("Points lost per position, compared", heads, rows)


def _format_mean(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _format_signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}"
