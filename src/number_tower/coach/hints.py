"""Hints in three steps (what to look for, the move, and why), reasons in words, and the exercises of a first lesson.

The words are keyed texts in `words.toml`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import NamedTuple

from number_tower.catalogue import parse_toml
from number_tower.coach.reasons import Reason, find_best_reason
from number_tower.game import Game, play_randomly
from number_tower.players.knowledge import get_knowledge
from number_tower.rules import Rules
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.solution import Solution
from number_tower.solve.worth import Worth
from number_tower.table import Table
from number_tower.text import Template
from number_tower.text import Value as Fact
from number_tower.voice import get_voice

EXERCISE_COUNT = 3

_RANDOM_GAMES = 40
"""Games that are played at random to find exercises."""

_MAX_WORK = 300_000
"""Blocks that are looked at in doing so: of large games few positions are."""

_MAX_GAME_LENGTH = 40

_MAX_MOVES = 40
"""Moves among which a beginner may be asked to find one."""

_IDEAS = (
    "multiple", "pairs", "made_up", "ahead", "threat_or", "threat", "threat_or_higher", "outlasts", "made_up_again",
    "alone", "answers", "forced",
)  # fmt: skip
"""Reasons for a win in more than one move, the most instructive first."""


# Hints ----------------------------------------------------------------------------------------------------------------


class Hint(NamedTuple):
    """A best move, its reason, and how many moves are as good."""

    worth: Worth
    legal: int
    """How many moves there are."""
    good: int
    """How many of them keep the value of the position."""
    best: int
    """How many of them are best."""
    reason: Reason

    @property
    def block(self) -> int:
        """The block to place."""
        return self.reason.block

    def nudge(self, noun: str) -> str:
        """Write what kind of move to look for, without any number."""
        if self.legal == 1:
            return fill_text("count_only", {})
        many = "all" if self.good == self.legal else "one" if self.good == 1 else "some"
        kind = self.reason.kind
        if self.worth.value == "loss":
            kind = "lost_alike" if self.best == self.legal else "lost"
        return f"{fill_text(f'count_{self.worth.value}_{many}', {})} {fill_text(f'nudge_{kind}', {'noun': noun})}"

    def name_move(self) -> str:
        """Write which block to place."""
        if self.legal == 1:
            key = "move_only"
        elif self.worth.value == "loss" and self.worth.plies is None:
            key = "move_loss_unknown"
        else:
            key = f"move_{self.worth.value}"
        return fill_text(key, {"block": self.block})

    def why(self, opponent: str, noun: str) -> str:
        """Write the reason for the move."""
        return format_sentence(self.reason, opponent, noun)


def hint(solution: Solution) -> Hint:
    """Make a hint for the player to move."""
    good = sum(worth.value == solution.value for worth in solution.moves.values())
    return Hint(solution.worth, len(solution.moves), good, len(solution.best), find_best_reason(solution))


class HintText(NamedTuple):
    """The steps of a hint that were asked for; the block only once the move is named."""

    texts: tuple[str, ...]
    more: bool
    """Whether there is another step."""

    block: int | None = None


def format_hint(table: Table, step: int, hint: Hint | None) -> HintText:
    """Write a hint for the player to move: step 1 what to look for, 2 also the move, 3 also the reason.

    There is none for hidden blocks, after the end, or (`hint` is None) where the position was not solved.
    """
    voice = get_voice(table.book)
    if table.hidden or not table.legal:
        refusal = voice.refuse(table, "hint" if table.hidden else "over", "")
        return HintText((refusal.text.strip(),), more=False)
    if hint is None:
        return HintText((fill_text("unknown", {}),), more=False)
    step = min(max(step, 1), 3)
    opponent = voice.get_name(table, 1 - table.game.to_move)
    texts = hint.nudge(voice.noun), hint.name_move(), hint.why(opponent, voice.noun)
    return HintText(texts[:step], more=step < len(texts), block=hint.block if step > 1 else None)


# Words ----------------------------------------------------------------------------------------------------------------


def format_sentence(reason: Reason, opponent: str, noun: str) -> str:
    """Write a reason for the player who makes the move."""
    return f"{reason.block} {format_reason(reason, opponent=opponent, noun=noun)}."


def format_reason(reason: Reason, *, opponent: str, player: str = "you", noun: str = "block") -> str:
    """Write what a block does, to be read after its number: "leaves 18, a multiple of 6"."""
    facts: dict[str, Fact] = {**reason.facts, "player": player, "opponent": opponent, "noun": noun, "such": ""}
    way = reason.facts.get("way")
    if way and not isinstance(way, int | str):
        facts["such"] = f" ({' + '.join(map(str, way))})"
    owner = "your" if player == "you" else f"{player}'s"
    facts["tower"] = "the tower" if reason.facts.get("towers") == "shared" else f"{owner} tower"
    facts["line"] = _format_line(reason, player, opponent)
    if reason.because is not None:
        same = reason.because.mover == reason.mover
        names = (player, opponent) if same else (opponent, player)
        facts["because"] = format_reason(reason.because, player=names[0], opponent=names[1], noun=noun)
    return fill_text(f"why_{reason.kind}", facts)


def _format_line(reason: Reason, player: str, opponent: str) -> str:
    """Write a line of play; with the players' names, unless they take turns."""
    moves, movers = reason.facts.get("moves", ()), reason.facts.get("movers", ())
    if isinstance(moves, str | int) or isinstance(movers, str | int):
        return ""
    if all(mover == (reason.mover + ply) % 2 for ply, mover in enumerate(movers, 1)):
        return ", ".join(map(str, moves))
    names = (player, opponent) if reason.mover == 0 else (opponent, player)
    return ", ".join(f"{move} ({names[mover]})" for move, mover in zip(moves, movers, strict=True))


def fill_text(key: str, facts: Mapping[str, Fact]) -> str:
    """Fill one of the coach's texts."""
    return load_texts()[key].fill(facts.__getitem__)


@cache
def load_texts() -> dict[str, Template]:
    """Return all texts by their keys."""
    with open(os.path.join(os.path.dirname(__file__), "words.toml"), "rb") as stream:
        texts = parse_toml(stream.read(), "words.toml")
    return {key: Template(str(text)) for key, text in texts.items()}


clause = format_reason
"""The name up to version 0.1."""


# Exercises ------------------------------------------------------------------------------------------------------------


class Exercise(NamedTuple):
    """A game at a position in which at most half of the moves win."""

    game: Game
    solution: Solution
    hint: Hint

    @property
    def kind(self) -> str:
        """The kind of reason to find."""
        return self.hint.reason.kind

    @property
    def difficulty(self) -> tuple[int, int]:
        """The plies to the win, and how many moves do not win."""
        plies = self.hint.worth.plies
        return _MAX_GAME_LENGTH if plies is None else plies, self.hint.legal - self.hint.good


def find_exercises(rules: Rules, seed: int = 0) -> tuple[Exercise, ...]:
    """Return up to three exercises, the easiest first: a win in one move, and then ideas as different as possible."""
    found = sorted(_search_positions(rules, Random(f"{seed} lesson")), key=lambda each: each.difficulty)  # noqa: S311 - play
    chosen = found[:1]
    while len(chosen) < EXERCISE_COUNT:
        ideas = {each.kind for each in chosen}
        new = [each for each in found if each.kind not in ideas and each.kind in _IDEAS]
        harder = [each for each in found if each.difficulty > chosen[-1].difficulty] if chosen else []
        if not new and not harder:
            break
        chosen.append(min(new, key=lambda each: _IDEAS.index(each.kind)) if new else harder[0])
    return tuple(sorted(chosen, key=lambda each: each.difficulty))


def _search_positions(rules: Rules, rng: Random) -> Iterator[Exercise]:
    """Give the exercises that random games come to."""
    knowledge = get_knowledge(rules)
    work = 0
    for _ in range(_RANDOM_GAMES):
        for game in play_randomly(Game(rules, int(rng.random() * 2)), rng, _MAX_GAME_LENGTH):
            moves = len(game.legal) if len(game.moves) < _MAX_GAME_LENGTH else 0
            if 1 < moves <= _MAX_MOVES and rng.random() < 1 / 2:
                work += len(rules.blocks) * moves
                solution = knowledge.solve(game.position)
                if solution is not None and (exercise := _make_exercise(game, solution)):
                    yield exercise
            if work > _MAX_WORK:
                return


def _make_exercise(game: Game, solution: Solution) -> Exercise | None:
    if solution.value != "win":
        return None
    try:
        given = hint(solution)
    except NotSolvedError:
        return None
    return Exercise(game, solution, given) if 2 * given.good <= given.legal else None
