"""The text and tables of a report: the result, how to read it, examples, games, and limits."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from number_tower import __version__
from number_tower.coach.reasons import Reason, find_best_reason, find_reason
from number_tower.coach.sentences import format_sentence
from number_tower.drawing.document import (
    escape,
    format_code,
    format_command,
    format_image,
    format_items,
    format_table,
)
from number_tower.engine.game import Game
from number_tower.engine.record import to_line
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.solution import Solution
from number_tower.studies.evaluation import BASELINES
from number_tower.studies.evaluation.intervals import Estimate, format_points, format_share
from number_tower.studies.evaluation.report.charts import MAX_NAME, MAX_SPEC, Chart, Named
from number_tower.studies.evaluation.scores import (
    REASON_WORDS,
    REASONS,
    Blunder,
    PlayerScore,
    Scores,
)
from number_tower.studies.evaluation.suite import Suite
from number_tower.support.text import format_count, format_text
from number_tower.words.brief import describe_rules
from number_tower.words.prompt import format_blocks

Columns = Sequence[tuple[str, Callable[[PlayerScore], str]]]
"""The columns of a table with a row for each player: the head of each, and what its cells say."""

_VALUE = (
    "Every position is worth a win (1 point), a draw (1/2) or a loss (0) to the player to move, "
    "if both play their best from there on. The solver knows which, exactly. A decision loses the "
    "difference between the best block and the one that was placed. That is the value lost, also "
    "called regret."
)

_TERMS = {
    "Points lost per decision": "the mean over the decisions that count: those where the legal "
    "blocks differ in value, and those where no legal answer came and something was lost. 0 is "
    "perfect.",
    "A blind guess": "what any legal block at random would lose on average at the same decisions.",
    "Right decisions": "the share of these decisions at which nothing was lost.",
    "Points per game": "against the opponent; a win counts 1, a draw 1/2.",
    "95%": "with very many such decisions, games or answers, the result would lie in this interval "
    "95 times in 100.",
}

_MAX_COMMAND = 4000
_MAX_BLUNDER_COMMAND = 2000
_MAX_ANSWER = 60
"""Characters of commands and answers."""

_MAX_BLUNDERS = 12
_MAX_BLUNDERS_EACH = 2
"""The number of examples, in all and of one player."""

_MAX_MOVES = 12
"""Moves before an example that are listed."""

_MAX_LISTED_BLOCKS = 4
_POINTS = {1.0: "win", 0.5: "draw", 0.0: "loss"}


def build_parts(
    scores: Scores, named: Named, charts: Mapping[str, Chart], command: str | None
) -> Iterator[str]:
    """Yield the whole report in Markdown, paragraph by paragraph."""

    def show(*names: str) -> Iterator[str]:
        for chart in [charts[name] for name in names if name in charts]:
            yield format_image(chart.file, chart.title, chart.description, escape(chart.caption))

    yield _summarize(scores.suite, named)
    yield "## The players"
    yield _make_table("All players, the best first", _OVERVIEW, named)
    yield from show("regret", "results")
    yield "## How to read it"
    yield _VALUE
    yield format_items(f"**{term}**: {meaning}" for term, meaning in _TERMS.items())
    yield "## Illegal answers"
    yield from _describe_illegal_answers(scores.suite, named)
    yield "## In parts"
    kinds = "Points lost per decision, in whole games and in single positions"
    yield _make_table(kinds, _KINDS, named)
    seats = "By seat; seat 1 starts: points lost per decision, and points per game"
    yield _make_table(seats, _SEATS, named)
    yield from show("plies")
    if len(scores.suite.games) > 1:
        yield _make_game_table(scores, named)
    yield from _compare_neighbours(scores, named)
    yield from _describe_mistakes(scores, named)
    yield "## The tasks"
    yield from _describe_tasks(scores, command)
    yield "## The games"
    yield from _describe_games(scores.suite)
    yield "## How reliable this is"
    yield format_items(_describe_limits(scores))


def _summarize(suite: Suite, named: Named) -> str:
    judged = [(name, score.overall) for name, score in named if score.overall.regret.number]
    if not judged:
        return "No player met a decision that counts, so nothing can be said about the value lost."

    def format_loss(estimate: Estimate) -> str:
        return f"{estimate.mean:.3f} points (95%: {estimate.low:.3f} to {estimate.high:.3f})"

    name, best = judged[0]
    first = f"{format_code(name)} lost {format_loss(best.regret)} per decision that counts"
    doubt = "" if best.regret.mean else _explain_doubt(suite, *named[0])
    if len(judged) == 1:
        guess = best.guessing or 0.0
        return f"{first}; a blind guess at the same decisions loses {guess:.3f}.{doubt}"
    last, worst = judged[-1]
    # Of a tie, nobody lost the least or the most.
    least = "" if judged[1][1].regret.mean == best.regret.mean else ", the least"
    most = "" if judged[-2][1].regret.mean == worst.regret.mean else ", the most"
    return (
        f"{first}{least}; {format_code(last)} lost {format_loss(worst.regret)}{most} "
        f"(a blind guess at the same decisions loses {worst.guessing or 0.0:.3f}).{doubt}"
    )


def _explain_doubt(suite: Suite, name: str, score: PlayerScore) -> str:
    """Return a sentence on why the interval of a player who lost nothing does not end at 0."""
    regret = score.overall.regret
    games = sum(figures.regret.number > 0 for figures in score.by_game.values())
    reason = "not all of them are independent"
    if suite.fresh and games > 1:
        reason = f"they come from only {games} games and are not independent within one"
    return (
        f" {format_code(name)} lost nothing in {format_count(regret.number, 'decision')}, but "
        f"{reason}, so a mean loss of up to {regret.high:.3f} cannot be ruled out."
    )


def _describe_illegal_answers(suite: Suite, named: Named) -> Iterator[str]:
    """Explain and count illegal answers, and quote the problems of players that failed."""
    tries = "one try" if suite.tries == 1 else f"{suite.tries} tries"
    told = "were told" if suite.legal else "were not told"
    yield (
        "An answer is illegal if it names no block, or one that cannot be placed. Players had "
        f"{tries} for each decision and {told} which blocks may be placed. A player who gave no "
        "legal answer in these tries forfeited the game or the position, and lost everything it "
        "was worth; a lost position is worth nothing, so that does not count. Nothing else is left "
        "out of the numbers."
    )
    if not any(score.overall.troubled.mean for _, score in named):
        yield "Nobody gave an illegal answer."
        return
    yield _make_table("Illegal answers and forfeits", _ILLEGAL, named)
    reasons = [reason for reason in REASONS if any(reason in score.reasons for _, score in named)]
    rows = []
    for name, score in named:
        counts = [score.reasons.get(reason, 0) for reason in reasons]
        rows.append([format_code(name), *(f"{count:,}" for count in counts)])
    heads = ["player", *(REASON_WORDS[reason] for reason in reasons)]
    yield format_table("Why answers were illegal", heads, rows)
    failures = []
    for name, score in named:
        if score.failure is not None:
            times = format_count(score.reasons["failed"], "time")
            problem = format_code(format_text(score.failure))
            failures.append(f"{format_code(name)}: {times}; {problem}")
    if failures:
        # It may be the connection, and not the player, that failed.
        yield (
            "Some answers did not come at all, because the player failed, was too slow or stopped. "
            "They count as illegal. How often, and the first problem of each player:"
        )
        yield format_items(failures)


def _make_game_table(scores: Scores, named: Named) -> str:
    """Return the loss of every player in every game; baselines come last."""
    shown = sorted(named, key=lambda item: item[1].player in BASELINES)
    rows = []
    for number, entry in enumerate(scores.suite.games, 1):
        label = format_code(str(number) if scores.suite.fresh else entry.text)
        means = [score.by_game[entry.text].regret.mean for _, score in shown]
        rows.append([label, *map(_format_mean, means)])
    heads = ["game", *(escape(name) for name, _ in shown)]
    return format_table("Points lost per decision in every game", heads, rows)


def _compare_neighbours(scores: Scores, named: Named) -> Iterator[str]:
    """Compare each player with the next at the same positions."""
    if not any(difference.number for difference in scores.pairs.values()):
        return
    rows = []
    for (name, one), (other, next_one) in pairwise(named):
        difference = scores.pairs[one.player, next_one.player]
        more = "-"
        if difference.mean is not None:
            # The next player's loss minus this one's, without a minus sign before 0.
            figures = (-difference.mean, -difference.high, -difference.low)
            mean, low, high = (f"{round(figure, 3) + 0.0:+.3f}" for figure in figures)
            more = f"{mean} ({low} to {high})"
        rows.append([format_code(name), format_code(other), more, f"{difference.number:,}"])
    heads = ("player", "next player", "next player lost more by (95%)", "positions")
    yield "## Comparison at the same positions"
    yield (
        "All players were asked about the same positions, so they can be compared position by "
        "position. Where the interval does not contain 0, the difference is unlikely to be chance."
    )
    yield format_table("Points lost per position, compared", heads, rows)


# Examples -----------------------------------------------------------------------------------------


def _describe_mistakes(scores: Scores, named: Named) -> Iterator[str]:
    erring = [(name, score) for name, score in named if score.worst][:_MAX_BLUNDERS]
    if not erring:
        return
    number = max(1, min(_MAX_BLUNDERS_EACH, _MAX_BLUNDERS // len(erring)))
    yield "## The worst mistakes"
    yield (
        "The largest losses of each player; among equals, those where a guess would most often "
        "have been right. The command at the end of each shows what every block was worth."
    )
    yield format_items(
        f"**{escape(name)}**: {_describe_blunder(scores.suite, blunder)}"
        for name, score in erring
        for blunder in score.worst[:number]
    )


def _describe_blunder(suite: Suite, blunder: Blunder) -> str:
    """Describe a decision, to follow the player's name."""
    task, decision = blunder
    table = suite.games_by_text[task.game].table
    game = Game(table.game.rules, moves=decision.moves)
    cut = "... " if len(game.moves) > _MAX_MOVES else ""
    moves = ", ".join(map(str, game.moves[-_MAX_MOVES:]))
    when = f"after {cut}{moves}" if moves else "before any move"
    best = decision.best or 0.0
    kept = [block for block, points in (decision.values or {}).items() if points == best]
    blocks = format_blocks(kept) if len(kept) > _MAX_LISTED_BLOCKS else " or ".join(map(str, kept))
    solution = get_knowledge(game.rules).solve(game.position)
    told = [
        f"as Player {game.to_move + 1} {when}, it {_describe_answer(blunder, solution, best)}",
        f"{blocks} would have kept the {_POINTS[best]}.",
    ]
    if solution is not None:
        with suppress(NotSolvedError):
            told.append(_format_reason(find_best_reason(solution)))
    line = to_line(replace(table, game=game), files=True)
    command = format_text(f"tower solve {shlex.quote(line)}", _MAX_BLUNDER_COMMAND)
    return " ".join([*told, format_code(command)])


def _describe_answer(blunder: Blunder, solution: Solution | None, best: float) -> str:
    decision = blunder.decision
    if decision.block is None:
        last = decision.attempts[-1].answer.strip() if decision.attempts else ""
        said = f"said {format_code(format_text(last, _MAX_ANSWER))}" if last else "said nothing"
        return f"{said} and gave no legal answer, which lost the {_POINTS[best]}."
    value = (decision.values or {})[decision.block]
    became = f"placed {decision.block} and turned a {_POINTS[best]} into a {_POINTS[value]}."
    reason = None if solution is None else find_reason(solution, decision.block)
    return became if reason is None or value == 0.5 else f"{became} {_format_reason(reason)}"


def _format_reason(reason: Reason) -> str:
    player, other = f"Player {reason.mover + 1}", f"Player {2 - reason.mover}"
    return escape(format_sentence(reason, other, "block", player=player))


# How it was made ----------------------------------------------------------------------------------


def _describe_tasks(scores: Scores, command: str | None) -> Iterator[str]:
    """Describe the tasks, and how to reproduce them."""
    suite = scores.suite
    against = escape(format_text(suite.against, MAX_NAME))
    games = format_count(len(suite.games), "game" if suite.fresh else "named game")
    over = f"{games} made from the seed" if suite.fresh else games
    positions = format_count(suite.positions, "position")
    yield (
        f"Each player played {format_count(suite.number, 'game')} against {against}, half of them "
        f"in each seat, and moved in {positions} where the legal blocks differ in value, reached "
        f"by random play and the same for all players; spread over {over}. Random seed "
        f"{suite.seed}, Number Tower {__version__}."
    )
    if command is not None:
        yield (
            "To repeat this evaluation (players that answer the same get the same report, to the "
            "byte):"
        )
        yield format_command(format_text(command, _MAX_COMMAND))
    if cut := [score.player for score in scores.players if len(score.player) > MAX_NAME]:
        yield "The full names of players whose names were shortened:"
        yield format_items(format_code(format_text(player, MAX_SPEC)) for player in cut)


def _describe_games(suite: Suite) -> Iterator[str]:
    """Describe the rules of all games, and who wins them."""
    if suite.fresh:
        yield (
            "Their rules were chosen at random, so that no player can have learned them by heart, "
            "and balanced: if both play their best, the player who starts wins as many of them as "
            "the other player."
        )
    games = []
    for entry in suite.games:
        position = entry.table.game.position
        solution = get_knowledge(position.rules).solve(position)
        if solution is None:
            worth = "It is not known who wins."
        elif solution.worth.value == "draw":
            worth = "A draw, if both play their best."
        else:
            verb = "wins" if solution.worth.value == "win" else "loses"
            plies = solution.worth.plies
            length = f" in {format_count(plies, 'move')}" if plies else ""
            worth = f"The player who starts {verb}{length}."
        name = format_code(format_text(entry.text, MAX_SPEC))
        games.append(f"{name}: {escape(' '.join(describe_rules(position.rules)))} **{worth}**")
    yield format_items(games, numbered=True)


def _describe_limits(scores: Scores) -> Iterator[str]:
    """Describe how reliable the figures are, and what they do not show."""
    fresh = scores.suite.fresh
    groups = "by the same rules" if fresh else "in two games with the same seed"
    yield (
        f"Decisions {groups} are not independent. So the intervals follow from how much such "
        "groups differ, with Student's quantile because there are few of them: Wilson's intervals "
        "for the number of independent decisions that would be just as uncertain; where the groups "
        "do not differ at all, for the number of groups. They measure chance and nothing else: a "
        "weakness that shows in few rules is missed if none of those rules was played."
    )
    if unknown := sum(score.overall.unknown for score in scores.players):
        decisions = format_count(unknown, "decision")
        yield f"{decisions} could not be judged within the solver's limits, and did not count."
    yield "A better player meets other decisions in games. Single positions are the same for all."
    yield (
        "Every decision weighs the same, and so does a mistake that the opponent did not punish. "
        "Points per game depend on the opponent; the value lost in single positions does not."
    )
    yield "Do not compare this with evaluations of another seed, other games, tries or prompts."
    if fresh:
        yield "The games follow from the seed: choose another for a player that may have seen them."


# Tables -------------------------------------------------------------------------------------------


def _make_table(caption: str, columns: Columns, named: Named) -> str:
    heads = ["player", *(head for head, _ in columns)]
    rows = [[format_code(name), *(write(score) for _, write in columns)] for name, score in named]
    return format_table(caption, heads, rows)


def _format_mean(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


_OVERVIEW: Columns = (
    ("points lost per decision (95%)", lambda score: format_points(score.overall.regret)),
    ("a blind guess", lambda score: _format_mean(score.overall.guessing)),
    ("right decisions (95%)", lambda score: format_share(score.overall.kept)),
    ("decisions that count", lambda score: f"{score.overall.regret.number:,}"),
    ("points per game (95%)", lambda score: format_points(score.overall.points)),
    ("games", lambda score: f"{score.overall.games:,}"),
)

_ILLEGAL: Columns = (
    ("illegal answers (95%)", lambda score: format_share(score.overall.illegal)),
    ("answers", lambda score: f"{score.overall.illegal.number:,}"),
    ("decisions with one (95%)", lambda score: format_share(score.overall.troubled)),
    ("decisions", lambda score: f"{score.overall.decisions:,}"),
    ("forfeits (95%)", lambda score: format_share(score.overall.forfeits)),
    ("games and positions", lambda score: f"{score.overall.tasks:,}"),
)

_KINDS: Columns = (
    ("in games (95%)", lambda score: format_points(score.by_kind["game"].regret)),
    ("decisions", lambda score: f"{score.by_kind['game'].regret.number:,}"),
    ("in positions (95%)", lambda score: format_points(score.by_kind["position"].regret)),
    ("decisions", lambda score: f"{score.by_kind['position'].regret.number:,}"),
)

_SEATS: Columns = (
    ("lost in seat 1 (95%)", lambda score: format_points(score.by_seat[0].regret)),
    ("lost in seat 2 (95%)", lambda score: format_points(score.by_seat[1].regret)),
    ("points in seat 1 (95%)", lambda score: format_points(score.by_seat[0].points)),
    ("points in seat 2 (95%)", lambda score: format_points(score.by_seat[1].points)),
)
