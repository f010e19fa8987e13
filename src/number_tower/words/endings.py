"""How a game ended: as a sentence, in a few words for lists, and in the game's own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from number_tower.engine.game import Game
from number_tower.engine.position import Ending, Outcome
from number_tower.engine.table import Table
from number_tower.words.voice import SPECTATOR, Reader, get_voice, join_messages


class EndingText(NamedTuple):
    """Words for a kind of ending."""

    clause: str
    """Why a player won or nobody did, after "Ann wins: "."""
    label: str
    """The same where there is room for few words."""


ENDINGS: dict[Ending, EndingText] = {
    "exact": EndingText("{tower} is exactly {target}", "target reached"),
    "stuck": EndingText("{loser} cannot place a {noun}", "opponent stuck"),
    "higher": EndingText("{tower} is higher, {high} to {low}", "higher tower"),
    "level": EndingText("no tower is higher", "level"),
    "resigned": EndingText("{loser} resigned", "resignation"),
    "forfeit": EndingText("{loser} forfeited", "forfeit"),
    "abandoned": EndingText("the game was abandoned", "abandoned"),
}
"""A voice has words of its own for them, in `plain.toml` and in rule files."""


def describe_ending(game: Game, outcome: Outcome, names: Sequence[str], noun: str = "block") -> str:
    """Return a sentence: who won and why.

    Examples:
        >>> game = nt.Game(nt.Rules(target=15), moves=(9, 6))
        >>> describe_ending(game, game.outcome, ("Ann", "Ben"))
        'Ben wins: the tower is exactly 15.'
    """
    clause = ENDINGS[outcome.reason].clause
    if outcome.winner is None:
        result = "Nobody wins" if outcome.reason == "abandoned" else "A draw"
        return f"{result}: {clause}."
    winner, loser = outcome.winner, 1 - outcome.winner
    shared = game.rules.towers == "shared"
    why = clause.format(
        tower="the tower" if shared else f"{names[winner]}'s tower",
        target=game.rules.target,
        loser=names[loser],
        high=game.heights[winner],
        low=game.heights[loser],
        noun=noun,
    )
    return f"{names[winner]} wins: {why}."


def label_ending(outcome: Outcome, names: Sequence[str]) -> str:
    """Return the result in a few words.

    Examples:
        >>> label_ending(nt.Game(nt.Rules(target=15), moves=(9, 6)).outcome, ("Ann", "Ben"))
        'Ben wins (target reached)'
    """
    label = ENDINGS[outcome.reason].label
    if outcome.winner is None:
        return label if outcome.reason == "abandoned" else f"drawn ({label})"
    return f"{names[outcome.winner]} wins ({label})"


def tell_ending(table: Table, reader: Reader = SPECTATOR) -> list[str]:
    """Return how a game ended in its own words, who won first."""
    told = get_voice(table.book, reader).tell(table)
    lines = join_messages(*(message for message in told if message.kind == "end")).splitlines()
    # The last line says who won.
    *others, winner = lines or [""]
    return [winner, *others]
