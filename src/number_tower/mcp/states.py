"""What the tools return: a dictionary of a game's state, which some extend, and it in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from typing_extensions import TypedDict

from number_tower.coach.analysis import PositionAnalysis
from number_tower.engine.position import Ending
from number_tower.engine.record import to_line
from number_tower.engine.rules import UNNAMED
from number_tower.engine.table import Table
from number_tower.players import Computer, Level, let_move
from number_tower.solve.limits import Progress
from number_tower.solve.worth import VALUE_VERBS, Value
from number_tower.words.prompt import write_rules, write_situation
from number_tower.words.voice import get_voice

MAX_MOVES_TOLD = 60
"""Of more moves, only these are described in words; the structured values have them all."""


@dataclass(frozen=True)
class ToolGame:
    """A game in play: its table, the opponent, and whether legal blocks are listed."""

    id: str
    table: Table
    opponent: Level | None = None
    """The level of the computer; without one, the user moves for both sides."""
    seed: int = 0
    lists: bool = True
    remark: str = ""
    """The computer's remark about its last move; usually empty."""

    def let_computer_move(self, progress: Callable[[Progress], object]) -> ToolGame:
        """Let the computer move as long as it is its turn."""
        game, table = self, self.table
        while self.opponent and table.outcome is None and table.automatic[table.game.to_move]:
            computer = Computer(self.opponent, self.seed, progress)
            table = let_move(table, computer)
            game = replace(game, table=table, remark=computer.remark)
        return game


class PlacedBlock(TypedDict):
    """A move that was made."""

    seat: int
    block: int


class FinalResult(TypedDict):
    """How a game ended; nobody's victory has no winner."""

    winner: int | None
    reason: Ending


class SideState(TypedDict):
    """A side of a game; what the players share stands with both.

    computer is the computer's level, or null if you move for this side. tower is from the ground
    up. left has the blocks left, or null if they are hidden.
    """

    seat: int
    name: str
    computer: str | None
    tower: list[int]
    height: int
    left: list[int] | None


class ToolState(TypedDict):
    """A game as it stands. Seats are 1 and 2; to_move is null after the end, and result before it.

    legal has the blocks that may be placed now, or null if they are not listed. record is the game
    on one line, to be saved, replayed or reviewed elsewhere.
    """

    id: str
    game: str
    rules: dict[str, str | int]
    hidden: bool
    seed: int
    players: list[SideState]
    moves: list[PlacedBlock]
    legal: list[int] | None
    to_move: int | None
    result: FinalResult | None
    record: str


class OpenGames(TypedDict):
    """The records of the open games and of the last finished ones, by their ids."""

    games: dict[str, str]


class HintedState(ToolState):
    """A game with a hint: its texts, the block if named, and whether a higher step tells more."""

    hints: list[str]
    block: int | None
    more: bool


class ValuedBlock(TypedDict):
    """What placing a block is worth to the player to move, and the moves to the end.

    null: not found in time.
    """

    block: int
    value: Value | None
    plies: int | None
    reason: str


class AnalysedState(ToolState):
    """A game with its exact value to the player to move, and the moves to the end.

    null: not found in time. values has the moves, the best first, or null if legal blocks are not
    listed; note says what is unknown, and why.
    """

    value: Value | None
    plies: int | None
    verdict: str
    method: str
    values: list[ValuedBlock] | None
    note: str


def make_state(game: ToolGame) -> ToolState:
    """Return how a game stands."""
    table, position, level = game.table, game.table.game, game.opponent
    outcome = table.outcome
    sides: list[SideState] = []
    for seat in (0, 1):
        left = table.left(seat)
        side: SideState = {
            "seat": seat + 1,
            "name": get_voice(table.book).get_name(table, seat),
            "computer": level.name if level and table.automatic[seat] else None,
            "tower": list(position.towers[seat]),
            "height": position.heights[seat],
            "left": None if left is None else list(left),
        }
        sides.append(side)
    result: FinalResult | None = None
    if outcome is not None:
        winner = None if outcome.winner is None else outcome.winner + 1
        result = {"winner": winner, "reason": outcome.reason}
    moves = zip(position.movers, position.moves, strict=True)
    return {
        "id": game.id,
        "game": table.rulebook,
        "rules": position.rules.to_dict(),
        "hidden": table.hidden,
        "seed": game.seed,
        "players": sides,
        "moves": [{"seat": mover + 1, "block": block} for mover, block in moves],
        "legal": list(table.legal) if game.lists and table.legal is not None else None,
        "to_move": None if outcome else position.to_move + 1,
        "result": result,
        "record": to_line(table),
    }


def describe_state(game: ToolGame, *, rules: bool = False) -> Iterator[str]:
    """Say how a game stands, with its rules if asked for."""
    table = game.table
    names = [get_voice(table.book).get_name(table, seat) for seat in (0, 1)]
    sides = f"You move for both, {names[0]} and {names[1]}."
    if game.opponent is not None:
        seat = table.automatic.index(True)
        sides = f"You are {names[1 - seat]}; {names[seat]} is the computer ({game.opponent.name})."
    title = "your own rules" if table.rulebook == UNNAMED else table.rulebook
    yield f"{game.id}, {title}. {sides}"
    yield game.remark
    if rules:
        yield write_rules(table)
    yield write_situation(table, legal=game.lists)
    if table.outcome is None:
        yield f"Call move with the id {game.id} and the block that you place."
    else:
        yield f"The game on one line: {to_line(table)}"


def describe_analysis(
    analysis: PositionAnalysis, values: list[ValuedBlock] | None
) -> Iterator[str]:
    """Say what a position is worth, and what its moves are, as far as they are listed."""
    yield analysis.verdict
    valued = [move for move in values or [] if move["value"] is not None]
    for move in valued[:MAX_MOVES_TOLD]:
        verb = VALUE_VERBS[move["value"]] if move["value"] else ""
        soon = "" if move["plies"] is None else f" in {move['plies']:,}"
        yield f"- {move['block']} ({verb}{soon}): {move['reason']}"
    if len(valued) > MAX_MOVES_TOLD:
        yield f"{len(valued) - MAX_MOVES_TOLD:,} more moves: give a block to see its value."
    yield analysis.note
    if values is None:
        yield "The moves are not listed in this game; give a block to see the value of that move."
