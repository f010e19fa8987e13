"""Who sits where: people at this keyboard, levels of the computer, or programs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from random import Random, SystemRandom
from typing import TYPE_CHECKING, NamedTuple

from number_tower.cli.console import SearchProgress
from number_tower.cli.errors import WRONG_CALL, CommandError
from number_tower.players import UnknownPlayerError, is_command, make_player
from number_tower.table import TableError, check_player_names
from number_tower.text import format_argument

if TYPE_CHECKING:
    from argparse import Namespace

    from number_tower.cli.dialogue import Dialogue
    from number_tower.players import Player
    from number_tower.table import Table


class Opponents(NamedTuple):
    """The players of a game, what shows that one of them thinks, and what they were asked for by."""

    players: tuple[Player | None, Player | None]
    progress: SearchProgress
    specs: tuple[str | None, str | None]
    seed: int

    @property
    def options(self) -> str:
        """The options that seat the same players again."""
        opponents = "".join(f" --vs {format_argument(spec)}" for spec in self.specs if spec is not None)
        seat = " --seat 2" if self.specs[1] is None else ""
        return f"{opponents}{seat} --seed {self.seed}"

    @property
    def automatic(self) -> tuple[bool, bool]:
        """Which seats are played by a computer."""
        return self.players[0] is not None, self.players[1] is not None

    @property
    def has_program(self) -> bool:
        """Whether a program plays: one that was written by who knows whom, and is started only when it is asked for."""
        return any(spec is not None and is_command(spec) for spec in self.specs)

    def choose_names(self, people: tuple[str, str]) -> tuple[str, str] | None:
        """Return what the players are called if nobody says otherwise: people by the rulebook, computers by level."""
        return _name_players(self.players, people)


def create_opponents(asked: Namespace) -> Opponents:
    """Seat whom `--vs` and `--seat` ask for: one opponent opposite the person, or two at each other's."""
    opponents: list[str] = asked.vs
    if len(opponents) > 2:
        raise CommandError(WRONG_CALL, "--vs: a game has two seats, so at most two can play each other")
    if len(opponents) == 2 and asked.seat is not None:
        raise CommandError(WRONG_CALL, "--seat: no seat is left where two --vs play each other")
    seed = asked.seed if asked.seed is not None else SystemRandom().randrange(1_000_000)
    ticker = SearchProgress("leaves the game", in_game=True)
    try:
        seated = [
            make_player(spec, seed=_derive_seed(seed, number), patience=asked.patience, progress=ticker.update)
            for number, spec in enumerate(opponents)
        ]
    except UnknownPlayerError as unknown:
        raise CommandError(WRONG_CALL, f"--vs: {unknown}") from None
    if len(seated) == 2:
        return Opponents((seated[0], seated[1]), ticker, (opponents[0], opponents[1]), seed)
    if asked.seat == "2":
        return Opponents((seated[0], None), ticker, (opponents[0], None), seed)
    return Opponents((None, seated[0]), ticker, (None, opponents[0]), seed)


def clear_default_names(table: Table, specs: tuple[str | None, str | None], people: tuple[str, str]) -> Table:
    """Take away names that nobody chose: they came with computers whom others may follow."""
    try:
        seated = [None if spec is None else make_player(spec) for spec in specs]
    except UnknownPlayerError:
        return table
    return replace(table, names=None) if table.names == _name_players((seated[0], seated[1]), people) else table


def _name_players(players: tuple[Player | None, Player | None], people: tuple[str, str]) -> tuple[str, str] | None:
    first, second = (name if seated is None else seated.name for seated, name in zip(players, people, strict=True))
    with suppress(TableError):
        return check_player_names((f"{first} 1", f"{second} 2") if first == second else (first, second))
    return None


def seat_opponents(dialogue: Dialogue, seating: Opponents, person: str | None = None) -> None:
    """Put players at a table; whoever has no name there gets one, and the one person there the name that was given."""
    table = dialogue.table
    people = dialogue.voice.players if person is None else (person, person)
    names = table.names or seating.choose_names(people)
    dialogue.table = replace(table, names=names, automatic=seating.automatic)
    dialogue.opponents = seating


def _derive_seed(seed: int, number: int) -> int:
    """Let two of the same level not play the same moves."""
    return seed if number == 0 else Random(f"{seed} {number}").randrange(1 << 32)  # noqa: S311 - play, not secrets
