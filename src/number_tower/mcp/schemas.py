"""The forms of what the tools answer, with a schema that programs can rely on."""

from __future__ import annotations

from pydantic import BaseModel, Field

from number_tower.position import Ending  # noqa: TC001 - pydantic reads it at run time
from number_tower.solve.worth import Value  # noqa: TC001 - likewise


class GameInfo(BaseModel):
    """A game of the catalogue."""

    name: str
    title: str
    summary: str
    options: list[str] = Field(description="what start_game may change about it")


class LevelInfo(BaseModel):
    """A level of the computer."""

    name: str
    about: str


class GamesResult(BaseModel):
    """What can be played, and against whom."""

    games: list[GameInfo]
    opponents: list[LevelInfo]


class RulesResult(BaseModel):
    """The rules of a game: in sentences, and as start_game takes them."""

    title: str
    about: str
    sentences: list[str]
    rules: dict[str, str | int]


class MoveInfo(BaseModel):
    """A move that was made."""

    seat: int
    block: int


class OutcomeInfo(BaseModel):
    """How a game ended."""

    winner: int | None = Field(description="the winner's seat; null if nobody won")
    reason: Ending


class PlayerInfo(BaseModel):
    """A side of a game; what the players share stands with both."""

    seat: int
    name: str
    computer: str | None = Field(description="the computer's level; null if you move for this side")
    tower: list[int] = Field(description="from the ground up")
    height: int
    left: list[int] | None = Field(description="the blocks left; null if they are hidden")


class StateResult(BaseModel):
    """A game as it stands."""

    id: str
    game: str
    rules: dict[str, str | int]
    hidden: bool
    seed: int
    players: list[PlayerInfo]
    moves: list[MoveInfo]
    to_move: int | None = Field(description="the seat whose turn it is; null once the game is over")
    legal: list[int] | None = Field(description="the blocks that may be placed now; null if they are not listed")
    result: OutcomeInfo | None = Field(description="null while the game goes on")
    record: str = Field(description="the game on one line, to be kept, replayed or reviewed elsewhere")


class SessionInfo(BaseModel):
    """A game in short."""

    id: str
    game: str
    moves: int
    to_move: int | None
    opponent: str | None
    result: OutcomeInfo | None


class OpenGamesResult(BaseModel):
    """The games that are kept, the oldest first."""

    games: list[SessionInfo]


class HintResult(BaseModel):
    """A hint, as much of it as was asked for."""

    id: str
    hints: list[str]
    block: int | None = Field(description="the block to place, if it was named")
    more: bool = Field(description="whether a higher step tells more")


class MoveValueInfo(BaseModel):
    """What placing a block is worth to the player to move."""

    block: int
    value: Value | None = Field(description="null: not found in the time there was")
    plies: int | None = Field(description="moves to the end, this one included; null: not known")
    reason: str


class AnalysisResult(BaseModel):
    """What a position is worth to the player to move, exactly."""

    id: str
    to_move: int | None
    value: Value | None = Field(description="null: not found in the time there was, or the game is over")
    plies: int | None = Field(description="moves to the end with best play; null: not known")
    result: OutcomeInfo | None = Field(description="null while the game goes on")
    verdict: str
    method: str
    moves: list[MoveValueInfo] | None = Field(description="the best first; null if legal blocks are not listed")
    note: str = Field(description="what is not known, and why not")
