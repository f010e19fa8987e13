"""The server: each tool reads what it is asked, does it at a table, and tells what came of it.

Nothing here waits for thought: whatever may take long runs in a thread of its own kind, ends within limits of its own,
and ends at once when whoever asked no longer wants to know.
"""

from __future__ import annotations

from asyncio import CancelledError
from dataclasses import replace
from functools import lru_cache, partial
from inspect import getdoc
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from anyio import CapacityLimiter, from_thread, to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, ToolAnnotations

from number_tower import __version__
from number_tower.catalogue import CatalogueError
from number_tower.coach.analysis import analyse_table, find_hint
from number_tower.coach.hints import format_hint
from number_tower.mcp import arguments as wishes
from number_tower.mcp import results
from number_tower.mcp import schemas as models
from number_tower.mcp.session import MAX_GAMES, GameSession, GameSessions, ToolRequestError
from number_tower.prompt import check_answer
from number_tower.solve.limits import NotSolvedError
from number_tower.table import TableError
from number_tower.text import format_value
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import Context
    from mcp_types import InputRequiredResult

T = TypeVar("T")

_EXPECTED_ERRORS = (ToolRequestError, CatalogueError, TableError, NotSolvedError)
"""What can go wrong without anything being broken."""

_INSTRUCTIONS = """\
Number-stacking games for two, with the exact truth about every position. list_games tells what there is; start_game \
begins one and gives its id; move places a block; see_game shows how it stands. Several games can be played at once, \
each by its id. Seats are 1 and 2."""
_HELP = " hint helps whoever is to move, and analyse tells exactly what every move is worth."

_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)

_SEARCHES, _COMPUTERS = 2, 4
"""Positions that are searched at once, and computers that think about a move at once."""


class Tools:
    """What can be asked for, one method a tool; its docstring is what a model reads about it."""

    def __init__(self, *, lists: bool = True, most: int = MAX_GAMES) -> None:
        self._lists = lists
        self._games = GameSessions(most)
        self._searches = CapacityLimiter(_SEARCHES)
        self._computers = CapacityLimiter(_COMPUTERS)
        self._rules_limiter = lru_cache(maxsize=2 * most)(lambda rules: CapacityLimiter(1))  # noqa: ARG005 - the key
        """What computers know of a game by some rules is kept in one place, which only one of them may use."""

    def list_games(self) -> Annotated[CallToolResult, models.GamesResult]:
        """Tell which games there are, which options they take, and at which levels the computer plays."""
        return results.build_games_result()

    def read_rules(
        self,
        game: wishes.GameName = None,
        rules: wishes.RulesGiven = None,
        target: wishes.Target = None,
        blocks: wishes.Blocks = None,
        opening: wishes.Opening = None,
    ) -> Annotated[CallToolResult, models.RulesResult]:
        """Tell the rules of a game: one of list_games with its options, or rules of your own."""
        sort = wishes.sort_of(game, rules, {"target": target, "blocks": blocks, "opening": opening})
        return results.build_rules_result(sort, wishes.begun(sort, wishes.Wish()))

    async def start_game(  # noqa: PLR0913 - the arguments are the tool's, and only named
        self,
        *,
        game: wishes.GameName = None,
        rules: wishes.RulesGiven = None,
        target: wishes.Target = None,
        blocks: wishes.Blocks = None,
        opening: wishes.Opening = None,
        hidden: wishes.Hidden = False,
        opponent: wishes.Opponent = wishes.NOBODY,
        seat: wishes.Seat = 1,
        first: wishes.First = 1,
        seed: wishes.Seed = None,
        legal: wishes.Lists = True,
    ) -> Annotated[CallToolResult, models.StateResult]:
        """Begin a game and give its id: by a name of list_games and options, or by rules of your own.

        Files cannot be named. Without an opponent you move for both sides; a computer that begins has moved already.
        """
        sort = wishes.sort_of(game, rules, {"target": target, "blocks": blocks, "opening": opening}, hidden=hidden)
        begun = wishes.begun(sort, wishes.Wish(opponent, seat, first, seed, legal))
        self._games.check_capacity()
        answered = await self._let_computer_move(replace(begun, lists=begun.lists and self._lists))
        return results.build_state_result(self._games.add(answered), rules=True)

    def see_game(self, id: wishes.GameId) -> Annotated[CallToolResult, models.StateResult]:  # noqa: A002 - the tool's own
        """Tell how a game stands, with its rules: the towers, the blocks left, the moves, and whose turn it is."""
        return results.build_state_result(self._games.get(id), rules=True)

    async def move(
        self,
        id: wishes.GameId,  # noqa: A002 - the tool's own
        block: wishes.Block,
    ) -> Annotated[CallToolResult, models.StateResult]:
        """Place a block for the player whose turn it is; an opponent answers at once.

        A block that cannot be placed changes nothing: the error says why, and you may try again.
        """
        before = self._games.get(id)
        _check_not_over(before, "nothing more can be placed")
        placed = replace(before, table=before.table.play(_read_block(before, block)), remark="")
        after = self._games.replace(before, await self._let_computer_move(placed))
        return results.build_state_result(after, _describe_reply(before, after))

    def take_back(self, id: wishes.GameId) -> Annotated[CallToolResult, models.StateResult]:  # noqa: A002 - the tool's own
        """Take your last move back, and with it whatever an opponent answered; also the move that ended a game."""
        before = self._games.get(id)
        _check_undo(before)
        after = self._games.replace(before, replace(before, table=before.table.undo(), remark=""))
        gone = before.table.game.moves[len(after.table.game.moves) :]
        return results.build_state_result(after, f"Taken back: {', '.join(map(str, gone))}.")

    def open_games(self) -> Annotated[CallToolResult, models.OpenGamesResult]:
        """List the games by their ids: those that go on, and the last that were finished."""
        return results.build_open_games_result(self._games.list_all())

    def resign(self, id: wishes.GameId) -> Annotated[CallToolResult, models.StateResult]:  # noqa: A002 - the tool's own
        """Give a game up: your side loses; without an opponent, the side whose turn it is."""
        before = self._games.get(id)
        _check_not_over(before, "there is nothing to give up")
        return results.build_state_result(
            self._games.replace(before, replace(before, table=before.table.declare("resigned", before.resigning_seat)))
        )

    async def hint(
        self,
        id: wishes.GameId,  # noqa: A002 - the tool's own
        step: wishes.Step = 1,
    ) -> Annotated[CallToolResult, models.HintResult]:
        """Help whoever is to move: 1 says what to look for, 2 also names a best move, and 3 also says why."""
        playing, most = self._games.get(id), wishes.number("step", step, 1, 3)
        _check_not_hidden(playing)
        _check_not_over(playing, "there is no move to look for")
        table = playing.table
        given = await _run_in_thread(self._searches, find_hint, table.game, wishes.SECONDS)
        return results.build_hint_result(playing, format_hint(table, playing.book, most, given))

    async def analyse(
        self,
        id: wishes.GameId,  # noqa: A002 - the tool's own
        block: wishes.OneBlock = None,
        seconds: wishes.Seconds = wishes.SECONDS,
    ) -> Annotated[CallToolResult, models.AnalysisResult]:
        """Tell what a position is worth to the player to move, and every move, exactly: value, moves to the end, why.

        What is not found within the seconds is said to be unknown; there is never a guess. In a game without lists of
        what may be placed, give a block to hear about that move.
        """
        playing, limit = self._games.get(id), wishes.seconds(seconds)
        _check_not_hidden(playing)
        if block is not None:
            _check_not_over(playing, "there is no move to value")
        if playing.table.outcome is not None:
            return results.build_finished_result(playing)
        only = None if block is None else _read_block(playing, block)
        told = await _run_in_thread(self._searches, analyse_table, playing.table, playing.book, limit)
        return results.build_analysis_result(playing, told, only)

    async def _let_computer_move(self, playing: GameSession) -> GameSession:
        """Let the computer answer, if it is its turn."""
        if playing.awaits_user:
            return playing
        async with self._rules_limiter(playing.table.game.rules):
            return await _run_in_thread(self._computers, playing.let_computer_move)


class TowerServer(MCPServer[Any]):
    """A server that says of a wrong call what would be right."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; what is wrong with a call is told in words, and nothing of it is guessed."""
        given = {key: value for key, value in arguments.items() if not wishes.left_out(value)}
        _check_call(name, arguments, given, {tool.name: tool.input_schema for tool in await self.list_tools()})
        try:
            return await super().call_tool(name, given, context)
        except UnexpectedToolError as wrong:
            if isinstance(wrong.__cause__, _EXPECTED_ERRORS):
                raise ToolError(_end_sentence(str(wrong.__cause__))) from None
            raise


def make_server(*, lists: bool = True, helps: bool = True, most: int = MAX_GAMES) -> TowerServer:
    """Make a server with no games yet.

    Without `lists` no game lists the blocks that may be placed; without `helps` there are no hints and no analysis.
    """
    made = TowerServer(
        "number-tower",
        title="Number Tower",
        description="Number-stacking games for two, with the exact truth about every position.",
        instructions=_INSTRUCTIONS + (_HELP if helps else ""),
        version=__version__,
        log_level="WARNING",
    )
    tools = Tools(lists=lists, most=most)
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
        made.add_tool(tool, description=getdoc(tool), annotations=hints)
    return made


server = make_server
"""The earlier name of `make_server`."""


def run(*, lists: bool = True, helps: bool = True) -> None:
    """Serve whoever is at the other end of standard input and output, until they go."""
    make_server(lists=lists, helps=helps).run("stdio")


async def _run_in_thread(limiter: CapacityLimiter, work: Callable[..., T], *args: object) -> T:
    """Do what takes thought in a thread; it is left when whoever asked has gone."""
    gone = Event()

    def check(_: object) -> None:
        from_thread.check_cancelled()
        if gone.is_set():
            raise CancelledError

    try:
        return await to_thread.run_sync(partial(work, *args, progress=check), limiter=limiter)
    finally:
        gone.set()


def _end_sentence(text: str) -> str:
    """End a message like a sentence; its first word may be the name of an argument, and stays as it is."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _check_call(
    name: str, arguments: dict[str, Any], given: dict[str, Any], schemas: dict[str, dict[str, Any]]
) -> None:
    if name not in schemas:
        raise ToolError(f"there is no tool {format_value(name)}; the tools are {', '.join(schemas)}.")
    known = list(schemas[name].get("properties", {}))
    for key in arguments:
        if key not in known:
            raise ToolError(f"{name} takes no argument {format_value(key)}; it takes {', '.join(known) or 'none'}.")
    for key in schemas[name].get("required", ()):
        if key not in given:
            raise ToolError(f"{name} needs the argument {key}: {schemas[name]['properties'][key]['description']}")


def _read_block(playing: GameSession, given: object) -> int:
    """Return the block that is meant, if it can be placed."""
    answer = check_answer(playing.table, wishes.block(given), legal=playing.lists)
    if answer.block is None:
        raise ToolRequestError(f"{answer.problem}")
    return answer.block


def _check_not_over(playing: GameSession, so: str) -> None:
    if playing.table.outcome is not None:
        raise ToolRequestError(f"{playing.id} is over: {so}; begin another with start_game")


def _check_undo(playing: GameSession) -> None:
    if playing.table.declared is not None:
        raise ToolRequestError(
            f"{playing.id} was given up, and after that no move can be taken back; begin another with start_game"
        )
    if not playing.table.may_undo:
        raise ToolRequestError(f"you have made no move in {playing.id} that could be taken back")


def _check_not_hidden(playing: GameSession) -> None:
    if playing.table.secret:
        raise ToolRequestError(
            f"the blocks are hidden in {playing.id}, so there is no hint and no analysis before it is over"
        )


def _describe_reply(before: GameSession, after: GameSession) -> str:
    """Say what the computer placed since, if there is one."""
    game, made = after.table.game, len(before.table.game.moves)
    new = list(zip(game.movers, game.moves, strict=True))[made:]
    blocks = [str(block) for mover, block in new if after.table.automatic[mover]]
    name = Voice(after.book).get_name(after.table, 1 - after.seat)
    return f"{name} placed {', then '.join(blocks)}." if blocks else ""
