"""The JSON of the API: requests, with bounds for every text and number, then responses. Seats are counted from 1."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from number_tower.blocks import LARGEST_NUMBER
from number_tower.catalogue import LARGEST_FILE
from number_tower.catalogue import list_names as games
from number_tower.match import MOST_GAMES
from number_tower.players import LEVELS
from number_tower.position import Ending, Refusal
from number_tower.presence import Presence
from number_tower.rules import Fit, Stuck, Supply, Towers
from number_tower.table import LONGEST_NAME
from number_tower.web.limits import MAX_RECORD_LENGTH

MOST_VERSIONS = 2**31 - 1
DEFAULT_LEVEL = list(LEVELS)[len(LEVELS) // 2]


def expect_one_of(names: Collection[str]) -> AfterValidator:
    """Return what rejects all but these names."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"expected one of {', '.join(names)}")
        return name

    return AfterValidator(check)


Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]
"""Text that a database takes: without NUL characters, and pydantic rejects lone surrogates."""
Number = Annotated[int, Field(strict=True, ge=1, le=LARGEST_NUMBER)]
Version = Annotated[int, Field(strict=True, ge=0, le=MOST_VERSIONS)]
Name = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["Ann"]),
]
Line = Annotated[Text, Field(max_length=MAX_RECORD_LENGTH, examples=["rules(target=15):9,4"])]
LevelName = Annotated[
    str, Field(max_length=40, json_schema_extra={"enum": list(LEVELS)}), expect_one_of(LEVELS)
]
Blocks = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_RECORD_LENGTH,
        pattern=r"^[0-9 ,-]*$",
        examples=["1-9", "1,3,5"],
    ),
]


# Requests -------------------------------------------------------------------------------------------------------------


class RequestModel(BaseModel):
    """The body of a request; unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class GameOptions(RequestModel):
    """Options of a game; its rulebook says which of them it takes."""

    target: Number | None = None
    blocks: Blocks | None = None
    opening: Blocks | None = Field(
        default=None, description="The blocks that may lie on the ground."
    )


class CustomRules(GameOptions):
    """Rules as in a rule file; the defaults are those of the plain game: blocks 1-9, shared, any fit."""

    supply: Supply | None = None
    towers: Towers | None = None
    fit: Fit | None = None
    step: Number | None = Field(
        None, description='How much larger a block may be than the last one; with fit "ascending".'
    )
    stuck: Stuck | None = None


class Opponent(RequestModel):
    """The opponent: another person at the same table, the computer, or the person who opens the link."""

    kind: Literal["table", "computer", "link"] = "link"
    level: LevelName | None = Field(
        default=None, description=f"How strong the computer is; {DEFAULT_LEVEL} if left out."
    )


class NewGame(RequestModel):
    """A new game; exactly one of `game`, `rules`, `rulefile` and `record` says which."""

    game: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z0-9_-]*$")] | None = (
        Field(None, description="A game of the catalogue, by its name.", examples=list(games()[:1]))
    )
    rules: CustomRules | None = None
    rulefile: Annotated[Text, Field(max_length=LARGEST_FILE)] | None = Field(
        None, description="The text of your own rule file, in TOML."
    )
    record: Line | None = Field(None, description="A game on one line, to continue from there.")
    preset: (
        Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9-]*$")] | None
    ) = Field(
        None,
        description="Recommended settings of the game, by their name; `options` count before them.",
    )
    options: GameOptions = GameOptions()
    hidden: bool = Field(
        default=False,
        strict=True,
        description="Whether the remaining blocks are hidden from both players.",
    )
    names: Annotated[list[Name | None], Field(max_length=2, examples=[["Ann", "Ben"]])] = Field(
        [],
        description="The names of the players in seats 1 and 2; the player who joins by the link chooses a name then.",
    )
    first: Literal[1, 2, "toss"] = Field(
        1, description="Which seat starts; a record says it already."
    )
    opponent: Opponent = Opponent()
    best_of: Annotated[int, Field(strict=True, ge=1, le=MOST_GAMES)] | None = Field(
        None, description="The number of games in the match; without it there is no match."
    )
    hints: bool = Field(
        default=True,
        strict=True,
        description="Whether players may ask for hints; never in a match.",
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"game": games()[0], "names": ["Ann"], "opponent": {"kind": "link"}},
                {
                    "game": games()[0],
                    "opponent": {"kind": "computer", "level": "fair"},
                    "first": "toss",
                },
                {
                    "rules": {"blocks": "1-12", "fit": "descending", "target": 21},
                    "opponent": {"kind": "table"},
                },
            ]
        }
    )


class JoinRequest(RequestModel):
    """Who takes the free seat."""

    name: Name | None = Field(None, examples=["Ben"])


class GameReference(RequestModel):
    """The game in the room that is meant, so that nothing happens in the next one by mistake."""

    game: Annotated[int, Field(strict=True, ge=1, le=MOST_VERSIONS)] | None = Field(
        None,
        description="The number of the game in the room; the current one if left out.",
        examples=[1],
    )


class MoveRequest(GameReference):
    """A move: the block, and the version of the game that it answers."""

    block: Annotated[int, Field(strict=True, ge=0, le=LARGEST_NUMBER, examples=[9])]
    version: Version = Field(
        examples=[0], description="The version of the game that this move answers."
    )


class UndoRequest(GameReference):
    """A takeback: the version of the game that it answers."""

    version: Version = Field(examples=[2])


class OfferRequest(GameReference):
    """What to offer to the other player."""

    kind: Literal["takeback", "rematch"]


class TakeSeatRequest(RequestModel):
    """The code that moves a seat to this device."""

    code: Annotated[
        str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9_-]*$", examples=["CODE"])
    ]


class HintRequest(RequestModel):
    """How much to show: 1 what kind of move to look for, 2 the move, 3 why."""

    step: Annotated[int, Field(strict=True, ge=1, le=3)] = 1


class RecordRequest(RequestModel):
    """A game on one line."""

    record: Line


# Responses ------------------------------------------------------------------------------------------------------------


Kind = TypeVar("Kind")
SeatNumber = Literal[1, 2]
Pair = Annotated[list[Kind], Field(min_length=2, max_length=2)]
"""Something of seat 1 and of seat 2."""


def number_seat(seat: int) -> SeatNumber:
    """Return the number of a seat, counted from 1."""
    return 2 if seat else 1


class ResponseModel(BaseModel):
    """A JSON object of a response."""

    model_config = ConfigDict(frozen=True)


class RulebookSummary(ResponseModel):
    """Which game it is."""

    name: str
    title: str
    noun: str = Field(description="What a block is called in this game.")


class PresetResponse(ResponseModel):
    """Recommended settings of a game."""

    name: str
    options: dict[str, str | int] = Field(description="The options as in a rule file.")
    about: str


class RulebookResponse(RulebookSummary):
    """A game of the catalogue."""

    summary: str
    about: str
    players: Pair[str] = Field(description="The default names of the players.")
    options: list[str] = Field(description="The options that players may choose.")
    presets: list[PresetResponse] = Field(
        description="Recommended settings, for `preset` of a new game."
    )
    rules: dict[str, str | int] = Field(description="The rules as in a rule file.")
    how: list[str] = Field(description="The rules in a few plain sentences.")


class RulebookList(ResponseModel):
    """The games of the catalogue."""

    rulebooks: list[RulebookResponse]


class LevelResponse(ResponseModel):
    """How strong the computer can be."""

    name: str
    about: str


class LevelList(ResponseModel):
    """The computer's levels, the weakest first."""

    levels: list[LevelResponse]


class PlayerState(ResponseModel):
    """A seat and its tower; `left` is null if the blocks are hidden or too many to list."""

    seat: SeatNumber
    name: str
    kind: Literal["person", "computer", "free"]
    level: str | None
    height: int
    top: int | None
    tower: list[int]
    left: list[int] | None


class ResultResponse(ResponseModel):
    """How a game ended: the winner's seat (null for a draw), and why it was over."""

    winner: SeatNumber | None
    reason: Ending


class OfferState(ResponseModel):
    """What a player has offered."""

    kind: Literal["takeback", "rematch"]
    seat: SeatNumber


class HintState(ResponseModel):
    """A hint that a player took against the other: when, and how much it showed."""

    version: int = Field(description="The version of the game at that time.")
    seat: SeatNumber
    step: Literal[1, 2, 3]


class SeriesState(ResponseModel):
    """The games in this room so far, and the points of each seat."""

    number: int
    best_of: int | None
    score: Pair[float]
    over: bool


class StateResponse(ResponseModel):
    """What players and spectators alike may see of a game."""

    game: int = Field(description="The number of the game in this room, from 1.")
    version: int = Field(
        description="Rises with every change of the game; a move names the version that it answers."
    )
    revision: int = Field(
        description="Grows with everything that happens; also the id of the event."
    )
    rulebook: RulebookSummary
    rules: dict[str, str | int]
    record: str = Field(description="The game on one line.")
    hidden: bool
    first: SeatNumber
    players: Pair[PlayerState]
    moves: list[int]
    to_move: SeatNumber | None
    legal: list[int] | None = Field(
        description="The blocks that can be placed now; null if the blocks are hidden."
    )
    refused: dict[str, Refusal] | None = Field(
        description="Why each of the other blocks cannot be placed."
    )
    result: ResultResponse | None
    said: list[str] = Field(
        description="The last events, told to the player whose token was sent, or to spectators."
    )
    remark: str
    offer: OfferState | None
    declined: OfferState | None
    waiting: bool = Field(description="Whether a seat is still free.")
    hints: bool
    hints_taken: list[HintState] = Field(
        description="The hints of this game; none at one table or against a computer."
    )
    series: SeriesState


class SeatToken(ResponseModel):
    """A seat, and the secret that holds it."""

    token: str = Field(description="Send it as `Authorization: Bearer …`; keep it secret.")
    seats: list[SeatNumber] = Field(description="The seats that it holds.")
    state: StateResponse


class GameLinks(ResponseModel):
    """Where a game is, as paths on this server."""

    play: str = Field(description="The page of the game; the first visitor can take the free seat.")
    watch: str = Field(description="The page for spectators; it gives no seat.")
    api: str
    events: str


class CreatedGame(SeatToken):
    """A new game, its addresses, and the seat of its creator."""

    address: str
    watch: str = Field(description="The address for spectators.")
    code: str | None = Field(
        description="The short code of the free seat, typed at `/join`; null if none is free."
    )
    links: GameLinks


ActionName = Literal[
    "join",
    "move",
    "undo",
    "resign",
    "offer_takeback",
    "offer_rematch",
    "accept",
    "decline",
    "rematch",
    "hint",
    "claim",
]


class SeatStatus(ResponseModel):
    """Which seats the sender holds, and what they may do now."""

    seats: list[SeatNumber]
    may: list[ActionName]


class PresenceResponse(ResponseModel):
    """Whether the players are there."""

    players: Pair[Presence] | None = Field(
        description="Whether each player is here, away (not seen for 10 seconds) or gone; null unless two people play"
        " at different devices."
    )
    gone_for: int = Field(
        description="The seconds for which the player to move has not been seen in this turn."
    )
    claim_after: int | None = Field(
        description="The seconds after which the game can be claimed; null if it cannot."
    )


class HandoverCode(ResponseModel):
    """A code that moves a seat to another device, once and for ten minutes."""

    code: str
    page: str = Field(description="The page that takes the seat, as a path on this server.")


class DialogueLine(ResponseModel):
    """A piece of the dialogue."""

    version: int = Field(description="The version of the game after which it was said.")
    moment: str = Field(description="Such as start, turn, placed, skipped, undone or end_exact.")
    seat: SeatNumber
    text: str


class DialogueLog(ResponseModel):
    """The dialogue of the current game, in words for its reader; of a long game, a part of it."""

    game: int
    said: list[DialogueLine]
    next: int | None = Field(
        description="The version from which the dialogue continues, for `since`; null at its end."
    )


class HintResponse(ResponseModel):
    """A hint for the player to move."""

    step: int
    texts: list[str] = Field(description="The texts, step by step.")
    more: bool = Field(description="Whether there is another step.")
    block: int | None = Field(description="The recommended block, from the second step on.")


class FieldProblem(ResponseModel):
    """Where in a request something is wrong, and what was expected there."""

    pointer: str = Field(description="A JSON pointer into the body, or the name of a parameter.")
    detail: str


class ProblemDetails(ResponseModel):
    """Why a request was refused (RFC 9457), with a reason for programs."""

    type: str
    title: str
    status: int
    reason: str = Field(
        description="Such as fit, target, used, opening, over, stale, not_yours or no_such_game."
    )
    detail: str = Field(
        description="What was wrong and what would be right; for a move, in the game's own words."
    )
    errors: list[FieldProblem] | None = Field(
        None, description="Every field that was not as expected."
    )
    state: StateResponse | None = Field(
        None, description="With 409: the current state of the game."
    )
