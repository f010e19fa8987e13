"""What the API gives: the same words as in the state of a game, and seats counted from 1."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from number_tower.position import Ending, Refusal  # noqa: TC001 - pydantic reads them at run time

Kind = TypeVar("Kind")
SeatNumber = Literal[1, 2]
Pair = Annotated[list[Kind], Field(min_length=2, max_length=2)]
"""Something of seat 1 and of seat 2."""


class Answer(BaseModel):
    """What the server says."""

    model_config = ConfigDict(frozen=True)


class Rulebook(Answer):
    """A game of the catalogue."""

    name: str
    title: str
    summary: str
    about: str
    noun: str = Field(description="What a block is called in this game.")
    players: Pair[str] = Field(description="What the players are called who have chosen no names.")
    options: list[str] = Field(description="What players may choose.")
    rules: dict[str, str | int] = Field(description="The rules, as a rule file writes them.")
    how: list[str] = Field(description="The rules in a few plain sentences.")


class Rulebooks(Answer):
    """The games of the catalogue."""

    rulebooks: list[Rulebook]


class Level(Answer):
    """How strong the computer can be."""

    name: str
    about: str


class Levels(Answer):
    """The computer's levels, the weakest first."""

    levels: list[Level]


class Book(Answer):
    """Which game it is."""

    name: str
    title: str
    noun: str


class PlayerState(Answer):
    """A seat and its tower; `left` is null where blocks are hidden or too many to be listed."""

    seat: SeatNumber
    name: str
    kind: Literal["person", "computer", "free"]
    level: str | None
    height: int
    top: int | None
    tower: list[int]
    left: list[int] | None


class Result(Answer):
    """How a game ended: the winner's seat (null: nobody won), and why it was over."""

    winner: SeatNumber | None
    reason: Ending


class OfferState(Answer):
    """What a player has offered."""

    kind: Literal["takeback", "rematch"]
    seat: SeatNumber


class Series(Answer):
    """The games in this room so far, and the points of each seat."""

    number: int
    best_of: int | None
    score: Pair[float]
    over: bool


class State(Answer):
    """What everybody may see of a game, players and spectators alike."""

    game: int = Field(description="Which game in this room it is, counting from 1.")
    version: int = Field(description="Rises with every change of the game; a move names the version that it answers.")
    mark: str = Field(description="Changes with everything that happens; the id of the event that tells it.")
    rulebook: Book
    rules: dict[str, str | int]
    record: str = Field(description="The game on one line.")
    hidden: bool
    first: SeatNumber
    players: Pair[PlayerState]
    moves: list[int]
    to_move: SeatNumber | None
    legal: list[int] | None = Field(description="The blocks that may be placed now; null where blocks are hidden.")
    refused: dict[str, Refusal] | None = Field(description="Why each of the other blocks cannot be placed.")
    result: Result | None
    said: list[str] = Field(description="What happened last, in the game's own words.")
    remark: str
    offer: OfferState | None
    declined: OfferState | None
    waiting: bool = Field(description="Whether a seat is still free.")
    hints: bool
    series: Series


class Held(Answer):
    """A seat, and the secret that holds it."""

    token: str = Field(description="Send it as `Authorization: Bearer …`; who has it has the seat.")
    seats: list[SeatNumber] = Field(description="The seats that it holds.")
    state: State


class Links(Answer):
    """Where a game is, as paths on this server."""

    play: str = Field(description="The page of the game; whoever opens it can take the free seat.")
    watch: str = Field(description="The page for spectators, from which nobody can take a seat.")
    api: str
    events: str


class Created(Held):
    """A game that has begun, its addresses, and the seat of whoever began it."""

    address: str
    watch: str = Field(description="The address for spectators.")
    links: Links


Doing = Literal[
    "join", "move", "undo", "resign", "offer_takeback", "offer_rematch", "accept", "decline", "rematch", "hint"
]


class Standing(Answer):
    """Which seats the sender holds, and what they may do now."""

    seats: list[SeatNumber]
    may: list[Doing]


class Code(Answer):
    """A code that moves a seat to another device, once and for ten minutes."""

    code: str
    page: str = Field(description="The page that takes the seat, as a path on this server.")


class SaidLine(Answer):
    """A piece of the dialogue."""

    version: int = Field(description="The version of the game after which it was said.")
    moment: str = Field(description="Such as start, turn, placed, skipped, undone or end_exact.")
    seat: SeatNumber
    text: str


class Log(Answer):
    """The dialogue of the current game, in the game's own voice; of a long game, a part of it."""

    game: int
    said: list[SaidLine]
    next: int | None = Field(description="The version from which the dialogue goes on, for `since`; null at its end.")


class HintGiven(Answer):
    """What is told to a player who asks for help."""

    step: int
    texts: list[str] = Field(description="What is told, step by step.")
    more: bool = Field(description="Whether there is another step.")
    block: int | None = Field(description="The block that is meant, from the second step on.")


class Mistake(Answer):
    """Where in a request something is wrong, and what was expected there."""

    pointer: str = Field(description="A JSON pointer into the body, or the name of a parameter.")
    detail: str


class ProblemDetails(Answer):
    """Why a request was refused (RFC 9457), with a reason for programs."""

    type: str
    title: str
    status: int
    reason: str = Field(description="Such as fit, target, used, opening, over, stale, not_yours or no_such_game.")
    detail: str = Field(description="What was wrong and what would be right, in words; of a move, in the game's own.")
    errors: list[Mistake] | None = Field(None, description="Every field that was not as expected.")
    state: State | None = Field(None, description="With 409: the game as it stands.")
