"""The server: each tool is a method of `Tools`.

Searches run in threads with limits of their own, and are stopped when the client cancels the call.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from inspect import getdoc
from secrets import randbelow
from threading import Event
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, from_thread, to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from number_tower import __version__
from number_tower.catalogue import CatalogueError
from number_tower.coach.analysis import analyse_table, find_hint
from number_tower.coach.hints import format_hint
from number_tower.mcp import results, schemas
from number_tower.mcp.schemas import ToolRequestError
from number_tower.mcp.session import MAX_GAMES, GameSession, GameSessions, choose_game
from number_tower.players import ALL_LEVELS
from number_tower.prompt import check_answer
from number_tower.rules import RulesError
from number_tower.solve.limits import NotSolvedError
from number_tower.table import Table, TableError
from number_tower.text import format_value
from number_tower.voice import get_voice

T = TypeVar("T")

_EXPECTED_ERRORS = (ToolRequestError, CatalogueError, RulesError, TableError, NotSolvedError)
"""Errors whose text is the answer to a wrong call."""

_INSTRUCTIONS = """\
Number-stacking games for two, with the exact value of every position. list_games lists the games; start_game \
starts one and returns its id; move places a block; see_game shows its state. Several games can be played at once, \
each by its id. Seats are 1 and 2."""
_HELP = " hint helps the player to move, and analyse shows exactly what every move is worth."

_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_ENDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)

_SEARCHES, _COMPUTERS = 2, 4
"""Analyses, and computers' moves, that are searched at once."""


class Tools:
    """The tools, one method each; a tool's docstring is its description for the model.

    All are coroutines, so that only the thread of the event loop changes the games.
    """

    def __init__(self, *, lists: bool = True) -> None:
        self._lists = lists
        self._games = GameSessions()
        self._searches = CapacityLimiter(_SEARCHES)
        self._computers = CapacityLimiter(_COMPUTERS)
        self._rules_limiter = lru_cache(maxsize=2 * MAX_GAMES)(lambda rules: CapacityLimiter(1))  # noqa: ARG005 - the key
        """One computer at a time for the same rules, since they share what is known of the game."""

    async def list_games(self) -> Annotated[CallToolResult, schemas.GamesResult]:
        """List the games, their options and presets, and the levels of the computer."""
        return results.build_games_result()

    async def read_rules(
        self,
        game: schemas.GameName = None,
        rules: schemas.RulesGiven = None,
        preset: schemas.PresetName = None,
        target: schemas.Target = None,
        blocks: schemas.Blocks = None,
        opening: schemas.Opening = None,
    ) -> Annotated[CallToolResult, schemas.RulesResult]:
        """Show the rules of a game: one of list_games with a preset and options, or your own rules."""
        choice = choose_game(
            game, rules, {"target": target, "blocks": blocks, "opening": opening}, preset=preset
        )
        return results.build_rules_result(Table.start(choice))

    async def start_game(  # noqa: PLR0913 - the arguments of the tool
        self,
        *,
        game: schemas.GameName = None,
        rules: schemas.RulesGiven = None,
        preset: schemas.PresetName = None,
        target: schemas.Target = None,
        blocks: schemas.Blocks = None,
        opening: schemas.Opening = None,
        hidden: schemas.Hidden = False,
        opponent: schemas.Opponent = schemas.NO_OPPONENT,
        seat: schemas.Seat = 1,
        first: schemas.FirstSeat = 1,
        seed: schemas.Seed = None,
        legal: schemas.ListsLegal = True,
    ) -> Annotated[CallToolResult, schemas.StateResult]:
        """Start a game and return its id: by a name of list_games with a preset and options, or by your own rules.

        Files cannot be named. Without an opponent you move for both sides; a computer that starts has already moved.
        """
        seed = randbelow(2**31) if seed is None else seed
        options = {"target": target, "blocks": blocks, "opening": opening}
        choice = choose_game(
            game, rules, options, preset=preset, hidden=hidden, first=first, seed=seed
        )
        level = ALL_LEVELS.get(opponent)
        automatic = (False, False) if level is None else (seat == 2, seat == 1)
        table = replace(Table.start(choice), automatic=automatic)
        self._games.make_room()
        session = GameSession("", table, level, seed, legal and self._lists)
        return results.build_state_result(
            self._games.add(await self._let_computer_move(session)), rules=True
        )

    async def see_game(self, id: schemas.GameId) -> Annotated[CallToolResult, schemas.StateResult]:  # noqa: A002 - argument
        """Show the state of a game, with its rules: the towers, the blocks left, the moves, and whose turn it is."""
        return results.build_state_result(self._games.get(id), rules=True)

    async def move(
        self,
        id: schemas.GameId,  # noqa: A002 - argument
        block: schemas.Block,
    ) -> Annotated[CallToolResult, schemas.StateResult]:
        """Place a block for the player whose turn it is; an opponent answers at once.

        A block that cannot be placed changes nothing: the error says why, and you may try again.
        """
        before = self._games.get(id)
        _check_not_over(before, "no more blocks can be placed")
        placed = replace(before, table=before.table.play(_check_block(before, block)), remark="")
        after = self._games.replace(before, await self._let_computer_move(placed))
        return results.build_state_result(after, _describe_reply(before, after))

    async def take_back(self, id: schemas.GameId) -> Annotated[CallToolResult, schemas.StateResult]:  # noqa: A002 - argument
        """Undo your last move, and with it the opponent's answer; also the move that ended a game."""
        before = self._games.get(id)
        _check_undo(before)
        after = self._games.replace(before, replace(before, table=before.table.undo(), remark=""))
        removed = before.table.game.moves[len(after.table.game.moves) :]
        return results.build_state_result(after, f"Undone: {', '.join(map(str, removed))}.")

    async def open_games(self) -> Annotated[CallToolResult, schemas.OpenGamesResult]:
        """List the games by their ids: unfinished ones, and the last finished ones."""
        return results.build_open_games_result(self._games.list_all())

    async def resign(self, id: schemas.GameId) -> Annotated[CallToolResult, schemas.StateResult]:  # noqa: A002 - argument
        """Resign a game: your side loses; without an opponent, the side whose turn it is."""
        before = self._games.get(id)
        _check_not_over(before, "it cannot be resigned")
        table = before.table.declare("resigned", before.table.game.to_move)
        return results.build_state_result(self._games.replace(before, replace(before, table=table)))

    async def hint(
        self,
        id: schemas.GameId,  # noqa: A002 - argument
        step: schemas.Step = 1,
    ) -> Annotated[CallToolResult, schemas.HintResult]:
        """Help the player to move: 1 says what to look for, 2 also shows a best move, and 3 also says why."""
        session = self._games.get(id)
        _check_not_hidden(session)
        _check_not_over(session, "there is no move to find")
        table = session.table
        hint = await _run_in_thread(self._searches, find_hint, table.game, schemas.SECONDS)
        return results.build_hint_result(session, format_hint(table, step, hint))

    async def analyse(
        self,
        id: schemas.GameId,  # noqa: A002 - argument
        block: schemas.OneBlock = None,
        seconds: schemas.Seconds = schemas.SECONDS,
    ) -> Annotated[CallToolResult, schemas.AnalysisResult]:
        """Show the exact value of a position to the player to move, and of every move: value, moves to the end, why.

        A value that is not found in time is unknown; there is never a guess. In a game without lists of
        what may be placed, give a block to see the value of that move.
        """
        session = self._games.get(id)
        table = session.table
        _check_not_hidden(session)
        if block is not None:
            _check_not_over(session, "there is no move to value")
        if table.outcome is not None:
            return results.build_finished_result(session)
        only = None if block is None else _check_block(session, block)
        analysis = await _run_in_thread(self._searches, analyse_table, table, seconds)
        return results.build_analysis_result(session, analysis, only)

    async def _let_computer_move(self, session: GameSession) -> GameSession:
        """Let the computer move, if it is its turn."""
        if session.awaits_user:
            return session
        async with self._rules_limiter(session.table.game.rules):
            return await _run_in_thread(self._computers, session.let_computer_move)


class TowerServer(MCPServer[Any]):
    """A server whose errors say what a right call would be."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; null counts as not given, also as the text of which the library makes null."""
        given = {
            key: value
            for key, value in arguments.items()
            if value is not None and not (isinstance(value, str) and value.strip() == "null")
        }
        _check_call(
            name,
            arguments,
            given,
            {tool.name: tool.input_schema for tool in await self.list_tools()},
        )
        try:
            return await super().call_tool(name, given, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                cause = cause.errors()[0].get("ctx", {}).get("error")
            if isinstance(cause, _EXPECTED_ERRORS):
                raise ToolError(_end_sentence(str(cause))) from None
            raise


def make_server(*, lists: bool = True, helps: bool = True) -> TowerServer:
    """Return a server without games.

    Without `lists` no game lists the legal blocks; without `helps` there are no hints and no analysis.

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
    for tool, hints in (
        (tools.list_games, _READS),
        (tools.read_rules, _READS),
        (tools.start_game, _CHANGES),
        (tools.see_game, _READS),
        (tools.move, _CHANGES),
        (tools.take_back, _CHANGES),
        (tools.open_games, _READS),
        (tools.resign, _ENDS),
        *(((tools.hint, _READS), (tools.analyse, _READS)) if helps else ()),
    ):
        server.add_tool(tool, description=getdoc(tool), annotations=hints)
    return server


server = make_server
"""The earlier name of `make_server`."""


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


def _end_sentence(text: str) -> str:
    """Add a full stop; the first word stays as it is, since it may be the name of an argument."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _check_call(
    name: str,
    arguments: dict[str, Any],
    given: dict[str, Any],
    input_schemas: dict[str, dict[str, Any]],
) -> None:
    if name not in input_schemas:
        raise ToolError(
            f"there is no tool {format_value(name)}; the tools are {', '.join(input_schemas)}."
        )
    schema = input_schemas[name]
    known = list(schema.get("properties", {}))
    for key in arguments:
        if key not in known:
            raise ToolError(
                f"{name} takes no argument {format_value(key)}; it takes {', '.join(known) or 'none'}."
            )
    for key in schema.get("required", ()):
        if key not in given:
            raise ToolError(
                f"{name} needs the argument {key}: {schema['properties'][key]['description']}"
            )


def _check_block(session: GameSession, block: int) -> int:
    """Return the block if it can be placed."""
    answer = check_answer(session.table, block, legal=session.lists)
    if answer.block is None:
        raise ToolRequestError(f"{answer.problem}")
    return answer.block


def _check_not_over(session: GameSession, problem: str) -> None:
    if session.table.outcome is not None:
        raise ToolRequestError(f"{session.id} is over: {problem}; start another with start_game")


def _check_undo(session: GameSession) -> None:
    if session.table.declared is not None:
        raise ToolRequestError(
            f"{session.id} was resigned, and after that no move can be undone; start another with start_game"
        )
    if not session.table.may_undo:
        raise ToolRequestError(f"you have made no move in {session.id} that could be undone")


def _check_not_hidden(session: GameSession) -> None:
    if session.table.secret:
        problem = "so there is no hint and no analysis before it is over"
        raise ToolRequestError(f"the blocks are hidden in {session.id}, {problem}")


def _describe_reply(before: GameSession, after: GameSession) -> str:
    """Say what the computer has placed since, if there is one."""
    table, start = after.table, len(before.table.game.moves)
    moves = list(zip(table.game.movers, table.game.moves, strict=True))[start:]
    blocks = [str(block) for mover, block in moves if table.automatic[mover]]
    name = get_voice(table.book).get_name(table, 1 - before.table.game.to_move)
    return f"{name} placed {', then '.join(blocks)}." if blocks else ""
