"""The games of a server: each is an immutable session, and a registry says which is the current one of an id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic

from number_tower import catalogue
from number_tower.catalogue import First, GameChoice, OptionError, choose, load_named
from number_tower.mcp.schemas import ToolRequestError
from number_tower.players import Computer, Level, let_move
from number_tower.solve.limits import NotSolvedError, Progress
from number_tower.table import Table
from number_tower.text import format_value

MAX_GAMES = 100
"""Games that are kept at once."""

MAX_BLOCKS = 1_000
"""Blocks of a game, which is described in full again and again."""

MAX_PLIES = 10_000
"""Moves of a game, so that a computer that plays alone comes to an end."""

COMPUTER_SECONDS = 10.0
"""Seconds that a computer searches before it answers; its own limits are positions, slow in large games."""

_MAX_IDS_LISTED = 20
"""Ids that an error lists."""


def choose_game(  # noqa: PLR0913 - the arguments of the tools
    game: str | None,
    rules: Mapping[str, object] | None,
    options: Mapping[str, object],
    *,
    preset: str | None = None,
    hidden: bool = False,
    first: First = 1,
    seed: int | None = None,
) -> GameChoice:
    """Return the game of a name, a preset and options, or of rules; no name is ever looked up as a file."""
    given = {key: value for key, value in options.items() if value is not None}
    source = rules if game is None else game
    if source is None or (game is not None and rules is not None):
        names = ", ".join(catalogue.list_names())
        raise ToolRequestError(
            f"expected either a game ({names}) or your own rules, and not both or neither"
        )
    named = given if preset is None else {"preset": preset, **given}
    if named and game is None:
        keys = ", ".join(named)
        raise ToolRequestError(
            f"{keys}: an option of a named game; with your own rules, put it there"
        )
    try:
        choice = choose(
            source, given, preset=preset, hidden=hidden, first=first, seed=seed, find=load_named
        )
    except OptionError as error:
        raise ToolRequestError(f"{error}; give your own rules for anything else") from None
    if len(choice.rules.blocks) > MAX_BLOCKS:
        raise ToolRequestError(
            f"blocks: expected at most {MAX_BLOCKS:,} here; got {len(choice.rules.blocks):,}"
        )
    if choice.rules.most_plies > MAX_PLIES:
        raise ToolRequestError(
            f"target: expected a game of at most {MAX_PLIES:,} moves; this one could take more"
        )
    return choice


@dataclass(frozen=True)
class GameSession:
    """A game in play: its table, the opponent, and whether legal blocks are listed."""

    id: str
    table: Table
    opponent: Level | None = None
    """The level of the computer; without one, the user moves for both sides."""
    seed: int = 0
    lists: bool = True
    remark: str = ""
    """The computer's remark about its last move; usually empty."""

    def let_computer_move(self, progress: Callable[[Progress], object]) -> GameSession:
        """Let the computer move as long as it is its turn; after a time limit it plays without the exact values."""
        session, deadline = self, monotonic() + COMPUTER_SECONDS

        def check(so_far: Progress) -> None:
            progress(so_far)
            if monotonic() > deadline:
                raise NotSolvedError(f"not solved within {COMPUTER_SECONDS:g} seconds")

        while session.opponent is not None and not session.awaits_user:
            computer = Computer(session.opponent, session.seed, check)
            try:
                table = let_move(session.table, computer)
            except (
                NotSolvedError
            ):  # only once the game is solved from its start: then the rest is quick
                computer.progress = progress
                table = let_move(session.table, computer)
            session = replace(session, table=table, remark=computer.remark)
        return session

    @property
    def awaits_user(self) -> bool:
        """Whether it is not the computer's turn."""
        return self.table.outcome is not None or not self.table.automatic[self.table.game.to_move]


class GameSessions:
    """The open games and the last finished ones, by their ids; for one thread."""

    def __init__(self) -> None:
        self._sessions: dict[str, GameSession] = {}
        self._last_number = 0

    def list_all(self) -> list[GameSession]:
        """Return all games, the oldest first."""
        return list(self._sessions.values())

    def get(self, given: object) -> GameSession:
        """Return a game by its id."""
        session = self._sessions.get(given) if isinstance(given, str) else None
        if session is None:
            raise ToolRequestError(
                f"there is no game with the id {format_value(given)}; {self._list_open_ids()}"
            )
        return session

    def add(self, session: GameSession) -> GameSession:
        """Add a game with a new id."""
        self.make_room()
        self._last_number += 1
        added = replace(session, id=f"game-{self._last_number}")
        self._sessions[added.id] = added
        return added

    def make_room(self) -> None:
        """Remove the oldest finished game if no more can be added."""
        if len(self._sessions) < MAX_GAMES:
            return
        finished = next(
            (each.id for each in self._sessions.values() if each.table.outcome is not None), None
        )
        if finished is None:
            raise ToolRequestError(
                f"{MAX_GAMES} games are open, which is the limit; finish one, or end one with resign "
                f"({self._list_open_ids()})"
            )
        del self._sessions[finished]

    def replace(self, before: GameSession, after: GameSession) -> GameSession:
        """Replace a game, unless another call has changed it meanwhile."""
        if self._sessions.get(before.id) is not before:
            raise ToolRequestError(
                f"{before.id} was changed by another call; look at it again with see_game"
            )
        self._sessions[before.id] = after
        return after

    def _list_open_ids(self) -> str:
        ids = [session.id for session in self._sessions.values() if session.table.outcome is None]
        if not ids:
            return "no game is open; start one with start_game"
        more = f" and {len(ids) - _MAX_IDS_LISTED} more" if len(ids) > _MAX_IDS_LISTED else ""
        return f"the open games are {', '.join(ids[:_MAX_IDS_LISTED])}{more}"
