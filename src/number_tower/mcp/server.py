"""The server: each tool is a method of `Tools`.

Searches run in threads with limits of their own, and are stopped when the client cancels the call.
"""
# ruff: noqa: A002 - `id` is an argument of the tools

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from inspect import getdoc
from secrets import randbelow
from threading import Event
from typing import Annotated, Any, TypeVar, cast

from anyio import CapacityLimiter, from_thread, to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import ValidationError
from typing_extensions import TypedDict

from number_tower import __version__
from number_tower.coach.analysis import PositionAnalysis, analyse_table, find_hint
from number_tower.coach.hints import format_hint
from number_tower.engine import catalogue
from number_tower.engine.catalogue import CatalogueError, GameChoice, choose, load_named
from number_tower.engine.record import to_line
from number_tower.engine.rules import RulesError
from number_tower.engine.table import Table, TableError
from number_tower.mcp import arguments, states
from number_tower.mcp.states import AnalysedState, HintedState, ToolGame, ToolState, ValuedBlock
from number_tower.players import ALL_LEVELS
from number_tower.support.text import format_value
from number_tower.words.prompt import check_answer, write_rules
from number_tower.words.voice import get_voice

T = TypeVar("T")

MAX_GAMES = 100
"""Games that are kept at once."""

_EXPECTED_ERRORS = (ToolError, CatalogueError, RulesError, TableError)
"""Errors whose text is the answer to a wrong call."""

_INSTRUCTIONS = """\
Number-stacking games for two, with the exact value of every position. list_games lists the \
games; start_game starts one and returns its id; move places a block; see_game shows its state. \
Several games can be played at once, each by its id. Seats are 1 and 2."""
_HELP = " hint helps the player to move, and analyse shows exactly what every move is worth."


class GameOffered(TypedDict):
    """A game, with what start_game takes for it."""

    name: str
    title: str
    summary: str
    options: list[str]
    presets: dict[str, str]


class GamesOffered(TypedDict):
    """What can be played, with the options and presets that start_game takes.

    opponents are the computer's levels.
    """

    games: list[GameOffered]
    opponents: dict[str, str]


class RulesTold(TypedDict):
    """The rules of a game: in sentences, and as start_game takes them."""

    title: str
    about: str
    sentences: list[str]
    rules: dict[str, str | int]


class Tools:
    """The tools, one method each; a tool's docstring is its description for the model.

    All are coroutines, so that only the thread of the event loop changes the games.
    """

    def __init__(self, *, lists: bool = True) -> None:
        self._lists = lists
        self._games: dict[str, ToolGame] = {}
        self._started = 0
        self._searches = CapacityLimiter(2)
        self._computers = CapacityLimiter(1)

    async def list_games(self) -> GamesOffered:
        """List the games, their options and presets, and the levels of the computer."""
        return {
            "games": [
                {
                    "name": book.name,
                    "title": book.title,
                    "summary": book.summary,
                    "options": list(book.options),
                    "presets": {name: preset.describe() for name, preset in book.presets.items()},
                }
                for book in catalogue.load_all()
            ],
            "opponents": {level.name: level.about for level in ALL_LEVELS.values()},
        }

    async def read_rules(
        self,
        game: arguments.GameName = None,
        rules: arguments.RulesGiven = None,
        preset: arguments.PresetName = None,
        target: arguments.Target = None,
        blocks: arguments.Blocks = None,
        opening: arguments.Opening = None,
    ) -> RulesTold:
        """Show the rules of a game: one of list_games with a preset and options, or your own."""
        options = {"target": target, "blocks": blocks, "opening": opening}
        table = Table.start(_choose_game(game, rules, options, preset=preset))
        return {
            "title": table.book.title,
            "about": table.book.about,
            "sentences": write_rules(table).split("\n"),
            "rules": table.game.rules.to_dict(),
        }

    async def start_game(  # noqa: PLR0913 - the arguments of the tool
        self,
        *,
        game: arguments.GameName = None,
        rules: arguments.RulesGiven = None,
        preset: arguments.PresetName = None,
        target: arguments.Target = None,
        blocks: arguments.Blocks = None,
        opening: arguments.Opening = None,
        hidden: arguments.Hidden = False,
        opponent: arguments.Opponent = arguments.NO_OPPONENT,
        seat: arguments.Seat = 1,
        first: arguments.FirstSeat = 1,
        seed: arguments.Seed = None,
        legal: arguments.ListsLegal = True,
    ) -> Annotated[CallToolResult, ToolState]:
        """Start a game and return its id.

        A game is a name of list_games with a preset and options, or your own rules. Files cannot be
        named. Without an opponent you move for both sides; a computer that starts has already
        moved.
        """
        level = ALL_LEVELS.get(opponent)
        if level is None and opponent != arguments.NO_OPPONENT:
            expected = f"none or one of {', '.join(ALL_LEVELS)}"
            raise ToolError(f"opponent: expected {expected}; got {format_value(opponent)}")
        seed = randbelow(2**31) if seed is None else seed
        options = {"target": target, "blocks": blocks, "opening": opening}
        choice = _choose_game(
            game, rules, options, preset=preset, hidden=hidden, first=first, seed=seed
        )
        automatic = (False, False) if level is None else (seat == 2, seat == 1)
        table = replace(Table.start(choice), automatic=automatic)
        if len(self._games) >= MAX_GAMES:
            # The oldest finished game makes room.
            finished = [key for key, other in self._games.items() if other.table.outcome]
            if not finished:
                limit = f"{MAX_GAMES} games are open, which is the limit"
                raise ToolError(f"{limit}; finish one, or end one with resign")
            del self._games[finished[0]]
        self._started += 1
        number = f"game-{self._started}"
        started = ToolGame(number, table, level, seed, lists=legal and self._lists)
        self._games[number] = await self._let_computer_move(started)
        return _make_state_result(self._games[number], rules=True)

    async def see_game(self, id: arguments.GameId) -> Annotated[CallToolResult, ToolState]:
        """Show the state of a game, with its rules.

        The state is the towers, the blocks left, the moves, and whose turn it is.
        """
        return _make_state_result(self._get(id), rules=True)

    async def move(
        self, id: arguments.GameId, block: arguments.Block
    ) -> Annotated[CallToolResult, ToolState]:
        """Place a block for the player whose turn it is; an opponent answers at once.

        A block that cannot be placed changes nothing: the error says why, and you may try again.
        """
        before = self._get(id)
        _check_not_over(before, "no more blocks can be placed")
        _check_block(before, block)
        placed = replace(before, table=before.table.play(block), remark="")
        after = self._replace(before, await self._let_computer_move(placed))
        answers = after.table.game.moves[len(placed.table.game.moves) :]
        said = f"The computer placed {', then '.join(map(str, answers))}." if answers else ""
        return _make_state_result(after, said)

    async def take_back(self, id: arguments.GameId) -> Annotated[CallToolResult, ToolState]:
        """Undo your last move with the opponent's answer to it; also the move that ended a game."""
        before = self._get(id)
        if before.table.declared is not None:
            problem = "was resigned, and after that no move can be undone"
            raise ToolError(f"{id} {problem}; start another with start_game")
        if not before.table.may_undo:
            raise ToolError(f"you have made no move in {id} that could be undone")
        after = self._replace(before, replace(before, table=before.table.undo(), remark=""))
        removed = before.table.game.moves[len(after.table.game.moves) :]
        return _make_state_result(after, f"Undone: {', '.join(map(str, removed))}.")

    async def open_games(self) -> states.OpenGames:
        """List the games by their ids, a line each: unfinished ones, and the last finished ones."""
        return {"games": {game.id: to_line(game.table) for game in self._games.values()}}

    async def resign(self, id: arguments.GameId) -> Annotated[CallToolResult, ToolState]:
        """Resign a game: your side loses; without an opponent, the side whose turn it is."""
        before = self._get(id)
        _check_not_over(before, "it cannot be resigned")
        table = before.table.declare("resigned", before.table.game.to_move)
        return _make_state_result(self._replace(before, replace(before, table=table)))

    async def hint(
        self, id: arguments.GameId, step: arguments.Step = 1
    ) -> Annotated[CallToolResult, HintedState]:
        """Help the player to move.

        1 says what to look for, 2 also shows a best move, and 3 also says why.
        """
        asked = self._get(id)
        _check_not_hidden(asked)
        _check_not_over(asked, "there is no move to find")
        seconds = arguments.DEFAULT_SECONDS
        advice = await _run_in_thread(self._searches, find_hint, asked.table.game, seconds)
        hint = format_hint(asked.table, step, advice)
        state: HintedState = {
            **states.make_state(asked),
            "hints": list(hint.texts),
            "block": hint.block,
            "more": hint.more,
        }
        return _make_result(state, hint.texts)

    async def analyse(
        self,
        id: arguments.GameId,
        block: arguments.OneBlock = None,
        seconds: arguments.Seconds = arguments.DEFAULT_SECONDS,
    ) -> Annotated[CallToolResult, AnalysedState]:
        """Show the exact value of a position to the player to move, and of every move.

        A move has its value, the moves to the end, and why. A value that is not found in time is
        unknown; there is never a guess. In a game without lists of what may be placed, give a block
        to see the value of that move.
        """
        asked = self._get(id)
        table, outcome = asked.table, asked.table.outcome
        _check_not_hidden(asked)
        if block is not None:
            _check_not_over(asked, "there is no move to value")
            _check_block(asked, block)
        if outcome is None:
            analysis = await _run_in_thread(self._searches, analyse_table, table, seconds)
        else:
            winner = "nobody"
            if outcome.winner is not None:
                winner = get_voice(table.book).get_name(table, outcome.winner)
            verdict = f"The game is over: {winner} has won."
            analysis = PositionAnalysis(None, 0, verdict, method="", moves=(), note="")
        values: list[ValuedBlock] | None = None
        if asked.lists or block is not None or outcome is not None:
            moves = [move for move in analysis.moves if block in {None, move.block}]
            values = [cast("ValuedBlock", move._asdict()) for move in moves]
        state: AnalysedState = {
            **states.make_state(asked),
            "value": analysis.value,
            "plies": analysis.plies,
            "verdict": analysis.verdict,
            "method": analysis.method,
            "values": values,
            "note": analysis.note,
        }
        return _make_result(state, states.describe_analysis(analysis, values))

    def _get(self, id: str) -> ToolGame:
        if id not in self._games:
            raise ToolError(f"there is no game with the id {format_value(id)}; see open_games")
        return self._games[id]

    def _replace(self, before: ToolGame, after: ToolGame) -> ToolGame:
        """Replace a game, unless another call has changed it while a computer was thinking."""
        if self._games.get(before.id) is not before:
            advice = "look at it again with see_game"
            raise ToolError(f"{before.id} was changed by another call; {advice}")
        self._games[before.id] = after
        return after

    async def _let_computer_move(self, game: ToolGame) -> ToolGame:
        """Let the computer move, if it is its turn; one game at a time, as they share solutions."""
        return await _run_in_thread(self._computers, game.let_computer_move)


class TowerServer(MCPServer[Any]):
    """A server whose errors say what a right call would be."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; null counts as not given, also as text."""
        values = {
            key: value
            for key, value in arguments.items()
            if value is not None and not (isinstance(value, str) and value.strip() == "null")
        }
        schemas = {tool.name: tool.input_schema for tool in await self.list_tools()}
        if name not in schemas:
            tools = ", ".join(schemas)
            raise ToolError(f"there is no tool {format_value(name)}; the tools are {tools}.")
        properties = schemas[name]["properties"]
        for key in arguments:
            if key not in properties:
                accepted = ", ".join(properties) or "none"
                problem = f"{name} takes no argument {format_value(key)}"
                raise ToolError(f"{problem}; it takes {accepted}.")
        try:
            return await super().call_tool(name, values, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                details = cause.errors()[0]
                path = [str(part) for part in details["loc"]]
                key, about = path[0], properties[path[0]]["description"]
                if key not in values:
                    raise ToolError(f"the argument {key} is missing: {about}") from None
                where = ".".join(path[:2]) if key == "rules" else key
                value = format_value(details["input"])
                raise ToolError(f"{where}: {details['msg']}; got {value}. {about}") from None
            if isinstance(cause, _EXPECTED_ERRORS):
                text = str(cause)
                raise ToolError(text if text.endswith((".", "!", "?")) else f"{text}.") from None
            raise


def make_server(*, lists: bool = True, helps: bool = True) -> TowerServer:
    """Return a server without games.

    Without `lists` no game lists the legal blocks; without `helps` there are no hints and no
    analysis.

    Examples:
        >>> import asyncio
        >>> tools = asyncio.run(make_server(helps=False).list_tools())
        >>> sorted(tool.name for tool in tools)[:3]
        ['list_games', 'move', 'open_games']
    """
    server = TowerServer(
        "number-tower",
        title="Number Tower",
        description="Number-stacking games for two, with the exact value of every position.",
        instructions=_INSTRUCTIONS + (_HELP if helps else ""),
        version=__version__,
        log_level="WARNING",
    )
    tools = Tools(lists=lists)
    offered: list[Callable[..., Any]]
    offered = [tools.list_games, tools.read_rules, tools.start_game, tools.see_game, tools.move]
    offered += [tools.take_back, tools.open_games, tools.resign]
    if helps:
        offered += [tools.hint, tools.analyse]
    for tool in offered:
        reads = tool.__name__ not in {"start_game", "move", "take_back", "resign"}
        hints = ToolAnnotations(
            read_only_hint=reads,
            idempotent_hint=reads,
            destructive_hint=tool.__name__ == "resign",
            open_world_hint=False,
        )
        server.add_tool(tool, description=getdoc(tool), annotations=hints)
    return server


def run(*, lists: bool = True, helps: bool = True) -> None:
    """Serve the client at standard input and output until it disconnects."""
    make_server(lists=lists, helps=helps).run("stdio")


async def _run_in_thread(limiter: CapacityLimiter, work: Callable[..., T], *args: object) -> T:
    """Run a search in a thread; it is stopped when the call is cancelled."""
    cancelled = Event()

    def check(_: object) -> None:
        from_thread.check_cancelled()
        if cancelled.is_set():
            raise CancelledError

    try:
        return await to_thread.run_sync(partial(work, *args, progress=check), limiter=limiter)
    finally:
        cancelled.set()


def _choose_game(
    game: str | None,
    rules: Mapping[str, object] | None,
    options: Mapping[str, object],
    **choices: Any,
) -> GameChoice:
    """Return the game of a name, a preset and options, or of rules; a name is never a file."""
    source = rules if game is None else game
    if source is None or (game is not None and rules is not None):
        names = ", ".join(catalogue.list_names())
        raise ToolError(f"expected either a game ({names}) or your own rules, not both")
    if isinstance(source, Mapping):
        source = {key: value for key, value in source.items() if value is not None}
    options = {key: value for key, value in options.items() if value is not None}
    choice = choose(source, options, find=load_named, **choices)
    choice.rules.check_served()
    return choice


def _make_state_result(game: ToolGame, heading: str = "", *, rules: bool = False) -> CallToolResult:
    lines = [heading, *states.describe_state(game, rules=rules)]
    return _make_result(states.make_state(game), lines)


def _make_result(state: Mapping[str, Any], lines: Iterable[str]) -> CallToolResult:
    text = TextContent(type="text", text="\n".join(filter(None, lines)))
    return CallToolResult(content=[text], structured_content={**state})


def _check_block(game: ToolGame, block: int) -> None:
    answer = check_answer(game.table, block, legal=game.lists)
    if answer.problem is not None:
        raise ToolError(answer.problem)


def _check_not_over(game: ToolGame, problem: str) -> None:
    if game.table.outcome is not None:
        raise ToolError(f"{game.id} is over: {problem}; start another with start_game")


def _check_not_hidden(game: ToolGame) -> None:
    if game.table.secret:
        problem = "so there is no hint and no analysis before it is over"
        raise ToolError(f"the blocks are hidden in {game.id}, {problem}")
