"""The scores of an evaluation: points, value lost and illegal answers, each with its interval."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from typing import Any, NamedTuple, get_args

from number_tower.engine.refusals import REFUSALS
from number_tower.studies.evaluation.intervals import Estimate, estimate_difference, estimate_mean
from number_tower.studies.evaluation.questions import Decision, IllegalReason
from number_tower.studies.evaluation.run import CompletedTask
from number_tower.studies.evaluation.suite import Suite, Task

KINDS = ("game", "position")
REASONS: tuple[str, ...] = tuple(
    word for words in get_args(IllegalReason) for word in get_args(words)
)
"""All reasons why an answer may be illegal."""

REASON_WORDS: Mapping[str, str] = {
    **{reason: words.label for reason, words in REFUSALS.items()},
    "empty": "empty",
    "no_number": "without a number",
    "many_numbers": "with several numbers",
    "failed": "did not come",
}
"""The words for reasons, to follow the number of answers."""

MAX_EXAMPLES = 3
"""The worst decisions of each player that are kept as examples."""

_COUNTS = ("tasks", "games", "won", "drawn", "lost", "decisions", "unknown")


class PlayerFigures(NamedTuple):
    """Figures of some tasks of a player; `regret` and `kept` are of the decisions that count."""

    tasks: int
    games: int
    won: int
    drawn: int
    lost: int
    decisions: int
    unknown: int
    """Decisions whose values are not known."""

    points: Estimate
    """Points of each game."""

    regret: Estimate
    """Points that a decision lost."""

    kept: Estimate
    """Share of the decisions that lost nothing."""

    illegal: Estimate
    """Share of the answers that were illegal."""

    troubled: Estimate
    """Share of the decisions with an illegal answer."""

    forfeits: Estimate
    """Share of the tasks that ended without a legal answer."""

    guessing: float | None
    """Points that a random legal block would lose on average, at the same decisions."""


class Blunder(NamedTuple):
    """A decision that lost value, and its task."""

    task: Task
    decision: Decision


@dataclass(frozen=True)
class PlayerScore:
    """The figures of one player, in all and in parts; `by_plies` is the regret after some plies."""

    player: str
    overall: PlayerFigures
    by_game: Mapping[str, PlayerFigures]
    by_kind: Mapping[str, PlayerFigures]
    by_seat: tuple[PlayerFigures, PlayerFigures]
    by_plies: Mapping[int, Estimate]
    worst: tuple[Blunder, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)
    """The number of illegal answers by reason, in the order of `REASONS`."""
    failure: str | None = None
    """The problem of the first answer that did not come, if there was one."""


@dataclass(frozen=True)
class Scores:
    """The players, those who lost least first, and every pair of them compared.

    Examples:
        >>> players = ["random", "perfect"]
        >>> scores = evaluate(players, nt.Rules(target=15), number=2, positions=20, jobs=1).scores
        >>> [score.player for score in scores.players]
        ['perfect', 'random']
        >>> scores.pairs["perfect", "random"].number
        20
        >>> import json
        >>> json.loads(scores.to_json())["players"][0]["player"]
        'perfect'
    """

    suite: Suite
    players: tuple[PlayerScore, ...]
    pairs: Mapping[tuple[str, str], Estimate]
    """Points per decision that a player lost more than one ranked below, at the same positions."""

    def to_json(self) -> str:
        """Return all figures as one line of JSON, without prompts and answers."""
        settings = ("number", "positions", "seed", "against", "tries", "legal")
        document = {
            **{name: getattr(self.suite, name) for name in settings},
            "games": [entry.text for entry in self.suite.games],
            "players": [
                {
                    "player": score.player,
                    **_to_values(score.overall),
                    "reasons": score.reasons,
                    "failure": score.failure,
                    "by_kind": _to_values(score.by_kind),
                    "by_seat": _to_values(score.by_seat),
                    "by_game": _to_values(score.by_game),
                    "by_plies": _to_values(score.by_plies),
                }
                for score in self.players
            ],
            "pairs": [
                {"players": pair, **_to_values(difference)}
                for pair, difference in self.pairs.items()
            ],
        }
        return json.dumps(document)


def _to_values(figures: Any) -> Any:
    """Return figures as JSON values, with rounded numbers."""
    if isinstance(figures, Estimate):
        interval = figures.low, figures.high
        figures = {"mean": figures.mean, "interval": interval, "number": figures.number}
    elif isinstance(figures, PlayerFigures):
        figures = figures._asdict()
    if isinstance(figures, Mapping):
        return {key: _to_values(value) for key, value in figures.items()}
    if isinstance(figures, tuple):
        return [_to_values(value) for value in figures]
    return round(figures, 4) + 0.0 if isinstance(figures, float) else figures


def compute_guess_regret(decision: Decision) -> float:
    """Return the mean loss of a random legal block; nothing if all are worth the same."""
    values = list((decision.values or {0: 0.0}).values())
    return max(values) - fsum(values) / len(values)


def compute_scores(suite: Suite, tasks: Iterable[CompletedTask]) -> Scores:
    """Add up completed tasks, which may come in any order."""
    sums = {player: _PlayerSums(suite) for player in suite.players}
    for task in tasks:
        sums[task.task.player].add(task)
    scores = [totals.compute_score(player) for player, totals in sums.items()]

    def rank(score: PlayerScore) -> tuple[float, float, float]:
        """Rank by points lost, then by points of games, then by forfeits."""
        figures = score.overall
        lost = 2.0 if figures.regret.mean is None else figures.regret.mean
        return lost, -(figures.points.mean or 0.0), figures.forfeits.mean or 0.0

    scores.sort(key=rank)
    pairs = {}
    for pair in combinations([score.player for score in scores], 2):
        ours, theirs = (sums[player].positions for player in pair)
        # How much more the first lost than the second, at the positions that both have met.
        differences: defaultdict[int, list[float]] = defaultdict(list)
        for position, (cluster, regret) in ours.items():
            if position in theirs:
                differences[cluster].append(regret - theirs[position][1])
        clusters = ((fsum(values), len(values)) for values in differences.values())
        pairs[pair] = estimate_difference(clusters)
    return Scores(suite, tuple(scores), pairs)


_Where = tuple[str, tuple[int, ...]]
"""A position: its game, and the moves that led to it."""

_Part = tuple[str, str | int]
"""Some of a player's tasks: all, those of a kind, a seat or a game, or the decisions after a number
of plies."""

_ALL: _Part = ("all", "")


class _PlayerSums:
    """The sums over the tasks of one player, by part and cluster."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self.positions: dict[_Where, tuple[int, float]] = {}
        self._clusters: defaultdict[_Part, defaultdict[int, Counter[str]]] = defaultdict(
            lambda: defaultdict(Counter)
        )
        self._guesses: defaultdict[_Part, list[float]] = defaultdict(list)
        self._worst: tuple[Blunder, ...] = ()
        self._reasons: Counter[str] = Counter()
        self._failure: tuple[int, str] | None = None

    def add(self, done: CompletedTask) -> None:
        """Add a task to all its parts; with only one variant, every task is its own cluster."""
        task = done.task
        game_cluster = task.index if self._suite.fresh else task.cluster
        cluster = task.cluster if len(self._suite.games) > 1 else game_cluster
        parts: dict[_Part, int] = {
            _ALL: cluster,
            ("kind", task.kind): cluster,
            ("seat", task.seat): cluster,
            ("game", task.game): game_cluster,
        }
        counts = Counter(
            tasks=1,
            forfeits=done.forfeit is not None,
            games=done.points is not None,
            won=done.points == 1,
            drawn=done.points == 0.5,
            lost=done.points == 0,
            half_points=int(2 * (done.points or 0)),
        )
        for decision in done.decisions:
            regret = decision.regret
            figures = Counter(
                decisions=1,
                troubled=decision.illegal > 0,
                answers=len(decision.attempts),
                illegal=decision.illegal,
                unknown=decision.values is None,
                counted=regret is not None,
                kept=regret == 0,
                half_points_lost=int(2 * (regret or 0)),
            )
            counts.update(figures)
            self._clusters["plies", len(decision.moves)][cluster].update(figures)
            self._add_decision(task, decision, cluster, parts)
        for part, number in parts.items():
            self._clusters[part][number].update(counts)

    def _add_decision(
        self, task: Task, decision: Decision, cluster: int, parts: Iterable[_Part]
    ) -> None:
        for attempt in decision.attempts:
            if attempt.reason is not None:
                self._reasons[attempt.reason] += 1
            if attempt.reason == "failed" and (
                self._failure is None or task.index < self._failure[0]
            ):
                self._failure = task.index, attempt.problem or ""
        if decision.regret is None:
            return
        for part in parts:
            self._guesses[part].append(compute_guess_regret(decision))
        if decision.regret:
            self._worst = _select_worst((*self._worst, Blunder(task, decision)))
        if task.kind == "position":
            self.positions[task.game, task.start] = cluster, decision.regret

    def compute_score(self, player: str) -> PlayerScore:
        """Return the score of the player."""
        plies = sorted(int(number) for kind, number in self._clusters if kind == "plies")
        regrets = {number: self._summarize("plies", number).regret for number in plies}
        return PlayerScore(
            player,
            self._summarize(*_ALL),
            {game.text: self._summarize("game", game.text) for game in self._suite.games},
            {kind: self._summarize("kind", kind) for kind in KINDS},
            (self._summarize("seat", 0), self._summarize("seat", 1)),
            {number: regret for number, regret in regrets.items() if regret.number},
            self._worst,
            {reason: self._reasons[reason] for reason in REASONS if self._reasons[reason]},
            None if self._failure is None else self._failure[1],
        )

    def _summarize(self, kind: str, which: str | int) -> PlayerFigures:
        part = kind, which
        clusters = list(self._clusters.get(part, {}).values())
        sums = sum(clusters, Counter[str]())
        guesses = self._guesses.get(part, [])

        def estimate(total: str, number: str, unit: float = 1) -> Estimate:
            return estimate_mean((cluster[total] * unit, cluster[number]) for cluster in clusters)

        return PlayerFigures(
            **{name: sums[name] for name in _COUNTS},
            points=estimate("half_points", "games", 0.5),
            regret=estimate("half_points_lost", "counted", 0.5),
            kept=estimate("kept", "counted"),
            illegal=estimate("illegal", "answers"),
            troubled=estimate("troubled", "decisions"),
            forfeits=estimate("forfeits", "tasks"),
            guessing=fsum(guesses) / len(guesses) if guesses else None,
        )


def _select_worst(blunders: Iterable[Blunder]) -> tuple[Blunder, ...]:
    """Return the decisions that lost most, and never a position twice."""

    def rank(blunder: Blunder) -> tuple[float, float, int, int]:
        # Of equals, those where a guess would have lost least.
        task, decision = blunder
        guessed = compute_guess_regret(decision)
        return -(decision.regret or 0.0), guessed, len(decision.moves), task.index

    different: dict[object, Blunder] = {}
    for blunder in sorted(blunders, key=rank):
        different.setdefault((blunder.task.game, blunder.decision.moves), blunder)
    return tuple(different.values())[:MAX_EXAMPLES]
