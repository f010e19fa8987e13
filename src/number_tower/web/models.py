"""What the API takes: closed models, every text and number within bounds that the description names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from number_tower.blocks import LARGEST_NUMBER
from number_tower.catalogue import LARGEST_FILE
from number_tower.catalogue import names as games
from number_tower.match import MOST_GAMES
from number_tower.players import LEVELS
from number_tower.rules import Fit, Stuck, Supply, Towers  # noqa: TC001 - pydantic reads them at run time
from number_tower.table import LONGEST_NAME
from number_tower.web.bounds import LONGEST_LINE

MOST_VERSIONS = 2**31 - 1
USUAL_LEVEL = list(LEVELS)[len(LEVELS) // 2]


def _readable(text: str) -> str:
    """Refuse what is no letter at all, and what no database takes: halves of characters, and the character zero."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("expected text without NUL characters and lone surrogates")
    return text


def _level(name: str) -> str:
    if name not in LEVELS:
        raise ValueError(f"expected one of {', '.join(LEVELS)}")
    return name


Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$"), AfterValidator(_readable)]
Number = Annotated[int, Field(strict=True, ge=1, le=LARGEST_NUMBER)]
Version = Annotated[int, Field(strict=True, ge=0, le=MOST_VERSIONS)]
Name = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["Ann"]),
    AfterValidator(_readable),
]
Line = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_LINE, pattern=r"^[^\x00]*$", examples=["rules(target=15):9,4"]),
    AfterValidator(_readable),
]
LevelName = Annotated[str, Field(max_length=40, json_schema_extra={"enum": list(LEVELS)}), AfterValidator(_level)]
Blocks = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_LINE, pattern=r"^[0-9 ,-]*$", examples=["1-9", "1,3,5"]),
]


class Closed(BaseModel):
    """A body in which every key means something."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class RulesGiven(Closed):
    """Rules as a rule file writes them; what is left out is as in the plain game: blocks 1-9, shared, any fit."""

    blocks: Blocks | None = None
    supply: Supply | None = None
    towers: Towers | None = None
    fit: Fit | None = None
    step: Number | None = Field(None, description='How far a block may rise above the last; with fit "ascending".')
    target: Number | None = None
    stuck: Stuck | None = None
    opening: Blocks | None = Field(None, description="The blocks that may lie on the ground.")


class Options(Closed):
    """What players may choose for one game; which of them a game takes stands in its rulebook."""

    target: Number | None = None
    blocks: Blocks | None = None
    opening: Blocks | None = None


class Opponent(Closed):
    """Whom to play against: someone at the same table, the computer, or whoever opens the link."""

    kind: Literal["table", "computer", "link"] = "link"
    level: LevelName | None = Field(default=None, description=f"How strong the computer is; {USUAL_LEVEL} if left out.")


class NewGame(Closed):
    """A game to be played: one of `game`, `rules`, `rulefile` and `record` says which."""

    game: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z0-9_-]*$")] | None = Field(
        None, description="A game of the catalogue, by its name.", examples=list(games()[:1])
    )
    rules: RulesGiven | None = None
    rulefile: (
        Annotated[str, Field(min_length=1, max_length=LARGEST_FILE, pattern=r"^[^\x00]*$"), AfterValidator(_readable)]
        | None
    ) = Field(None, description="The text of one's own rule file, in TOML.")
    record: Line | None = Field(None, description="A game on one line, to be played on from there.")
    options: Options = Options()
    hidden: bool = Field(default=False, strict=True, description="Whether nobody is told which blocks are left.")
    names: Annotated[list[Name | None], Field(max_length=2, examples=[["Ann", "Ben"]])] = Field(
        [], description="What the players of seat 1 and 2 are called; whoever joins by the link brings their own name."
    )
    first: Literal[1, 2, "toss"] = Field(1, description="Which seat begins; in a game from a record this is known.")
    opponent: Opponent = Opponent()
    best_of: Annotated[int, Field(strict=True, ge=1, le=MOST_GAMES)] | None = Field(
        None, description="A match of so many games at most; otherwise one plays as often as one likes."
    )
    hints: bool = Field(
        default=True, strict=True, description="Whether a player may ask for a hint; in a match nobody may."
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"game": games()[0], "names": ["Ann"], "opponent": {"kind": "link"}},
                {"game": games()[0], "opponent": {"kind": "computer", "level": "fair"}, "first": "toss"},
                {"rules": {"blocks": "1-12", "fit": "descending", "target": 21}, "opponent": {"kind": "table"}},
            ]
        }
    )


class Joining(Closed):
    """Who takes the free seat."""

    name: Name | None = Field(None, examples=["Ben"])


GameNumber = Annotated[int, Field(strict=True, ge=1, le=MOST_VERSIONS)]


class WhichGame(Closed):
    """Which game in the room is meant, so that nothing is done in the next by mistake."""

    game: GameNumber | None = Field(None, description="The current one if left out.", examples=[1])


class Placing(Closed):
    """A move: the block, and the version of the game that it answers."""

    block: Annotated[int, Field(strict=True, ge=0, le=LARGEST_NUMBER, examples=[9])]
    version: Version = Field(examples=[0], description="The version of the game that this move answers.")
    game: GameNumber | None = Field(
        None, description="Which game in the room it is for; the current one if left out.", examples=[1]
    )


class TakingBack(Closed):
    """A takeback: the version of the game that it answers."""

    version: Version = Field(examples=[2])
    game: GameNumber | None = Field(None, examples=[1])


class Offered(Closed):
    """What to offer to the other player."""

    kind: Literal["takeback", "rematch"]
    game: GameNumber | None = Field(None, examples=[1])


class Taking(Closed):
    """The code by which a seat comes to this device."""

    code: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9_-]*$", examples=["CODE"])]


class Asking(Closed):
    """How much to tell: 1 what kind of move to look for, 2 the move, 3 why."""

    step: Annotated[int, Field(strict=True, ge=1, le=3)] = 1


class Recorded(Closed):
    """A game on one line."""

    record: Line
