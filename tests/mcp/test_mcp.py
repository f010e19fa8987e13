"""The games over the Model Context Protocol: the official client plays them.

Errors say what would be right.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp_types import CallToolResult, TextContent, Tool
from syrupy.assertion import SnapshotAssertion

from mcp import Client, StdioServerParameters
from number_tower import Game, Rules, solve
from number_tower.coach import analysis
from number_tower.engine import catalogue, record
from number_tower.engine.rules import MAX_SERVED_TARGET
from number_tower.mcp import server
from number_tower.mcp.server import make_server
from number_tower.players import LEVELS, Computer
from number_tower.support.installation import format_install_command
from number_tower.terminal.cli.main import main
from support.clocks import SLOW
from support.command import DATA, ROOT, TOWER, plain_environment
from support.rulesets import FIVE, NO_OPENING, RULESETS

TOOLS = [
    "list_games", "read_rules", "start_game", "see_game", "move", "take_back", "open_games",
    "resign", "hint", "analyse",
]  # fmt: skip
SERVED = [rules for rules in RULESETS if (rules.target or 0) <= MAX_SERVED_TARGET]
HARD = {"blocks": "1-60", "towers": "own", "fit": "descending", "target": 400, "stuck": "skips"}


class RefusedError(Exception):
    """A tool said that something cannot be done."""


class ToolClient:
    """A client of a server in this process; its calls wait for the answer."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.portal = portal
        self._client = client

    def __call__(self, name: str, /, **arguments: object) -> dict[str, Any]:
        content = self._call(name, arguments).structured_content
        assert isinstance(content, dict)
        return content

    def read(self, name: str, /, **arguments: object) -> str:
        return get_text(self._call(name, arguments))

    def refuse(self, name: str, /, **arguments: object) -> str:
        """Call a tool that refuses, and return its reason."""
        with pytest.raises(RefusedError) as refusal:
            self._call(name, arguments)
        return str(refusal.value)

    def start(self, name: str, /, **arguments: object) -> Future[str]:
        """Call a tool without waiting for its answer."""

        async def call() -> str:
            return get_text(await self._client.call_tool(name, arguments))

        return self.portal.start_task_soon(call)

    def list_tools(self) -> list[Tool]:
        return self.portal.call(self._client.list_tools).tools

    @property
    def instructions(self) -> str:
        return self._client.instructions or ""

    def _call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        answer: CallToolResult = self.portal.call(self._client.call_tool, name, arguments)
        assert len(get_text(answer)) < 30_000
        if answer.is_error:
            raise RefusedError(get_text(answer))
        return answer


def get_text(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


@contextmanager
def open_client(client: Client | None = None, **choices: Any) -> Iterator[ToolClient]:
    """Connect a client, as a rule to a server with these choices in this process."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(client or Client(make_server(**choices))) as connected,
    ):
        yield ToolClient(connected, portal)


@pytest.fixture
def ask() -> Iterator[ToolClient]:
    with open_client() as client:
        yield client


def assert_state(state: dict[str, Any], game: Game) -> None:
    """Check that a tool describes a game as the engine has it."""
    outcome = game.outcome
    winner = None if outcome is None or outcome.winner is None else outcome.winner + 1
    assert [move["block"] for move in state["moves"]] == list(game.moves)
    assert [move["seat"] - 1 for move in state["moves"]] == list(game.movers)
    assert state["legal"] == list(game.legal)
    assert state["to_move"] == (None if outcome else game.to_move + 1)
    assert [player["height"] for player in state["players"]] == list(game.heights)
    assert [tuple(player["tower"]) for player in state["players"]] == list(game.towers)
    left = [game.rules.numbers(left) for left in game.position.left]
    assert [tuple(player["left"]) for player in state["players"]] == left
    assert state["result"] == (
        None if outcome is None else {"winner": winner, "reason": outcome.reason}
    )
    assert record.from_line(state["record"]).game == game


# What the tools say -------------------------------------------------------------------------------


def test_every_tool_is_described_and_says_what_it_changes(ask: ToolClient) -> None:
    tools = ask.list_tools()
    assert [tool.name for tool in tools] == TOOLS
    changing = {"start_game", "move", "take_back", "resign"}
    for tool in tools:
        assert tool.description
        assert "  " not in tool.description
        assert tool.output_schema
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (tool.name not in changing)
        for argument in tool.input_schema["properties"].values():
            assert argument["description"]
    assert "start_game" in ask.instructions
    offer = ask("list_games")
    assert [game["name"] for game in offer["games"]] == list(catalogue.list_names())
    assert list(offer["opponents"]) == ["random", *LEVELS]


def test_presets_are_listed_and_played_and_options_override_them(ask: ToolClient) -> None:
    listed = {game["name"]: game["presets"] for game in ask("list_games")["games"]}
    for book in catalogue.load_all():
        assert list(listed[book.name]) == list(book.presets)
        for name, preset in book.presets.items():
            assert listed[book.name][name] == preset.describe()
            state = ask("start_game", game=book.name, preset=name)
            assert_state(state, Game(book.apply_options(preset.options)))
            other = book.apply_options({**preset.options, "blocks": "1-20"})
            rules = ask("read_rules", game=book.name, preset=name, blocks="1-20")
            assert rules["rules"] == other.to_dict()


def test_any_rules_are_described(ask: ToolClient) -> None:
    for rules in [*SERVED, Rules(blocks=range(1, 1001), fit="related")]:
        description = ask("read_rules", rules=rules.to_dict())
        assert Rules.from_dict(description["rules"]) == rules
    assert "exactly 21" in ask.read("read_rules", game="draft", target=21)


# Games --------------------------------------------------------------------------------------------


def test_random_games_go_as_in_the_engine_though_they_are_played_at_once(ask: ToolClient) -> None:
    rng = random.Random(4)  # noqa: S311 - play
    games: dict[str, Game] = {}
    starts: list[tuple[dict[str, Any], Rules]] = [
        *(({"game": name}, rules) for name, rules in FIVE.items()),
        *(({"rules": rules.to_dict()}, rules) for rules in SERVED),
    ]
    for number, (chosen, rules) in enumerate(starts):
        game = Game(rules, number % 2)
        state = ask("start_game", **chosen, first=game.first + 1)
        assert_state(state, game)
        games[state["id"]] = game
    assert len(games) == len(FIVE) + len(SERVED)
    while open_ids := [key for key, game in games.items() if game.outcome is None]:
        key = rng.choice(open_ids)
        block = rng.choice(games[key].legal)
        games[key] = games[key].play(block)
        assert_state(ask("move", id=key, block=block), games[key])
    for key, game in games.items():
        assert_state(ask("see_game", id=key), game)
    listed = ask("open_games")["games"]
    assert {key: record.from_line(line).game for key, line in listed.items()} == games


@pytest.mark.parametrize("seat", [1, 2])
def test_opponent_plays_by_its_seed_and_is_taken_back(ask: ToolClient, seat: int) -> None:
    state = ask("start_game", game="draft", opponent="fair", seat=seat, seed=5)
    assert "you have made no move in game-1" in ask.refuse("take_back", id="game-1")
    assert state["players"][2 - seat]["computer"] == "fair"
    assert state["players"][seat - 1]["computer"] is None
    computer, game = Computer(LEVELS["fair"], 5), Game(FIVE["draft"])
    before = state
    while game.outcome is None:
        if game.to_move == seat - 1:
            assert_state(state, game)
            before = state
            game = game.play(game.legal[0])
            state = ask("move", id="game-1", block=game.moves[-1])
        else:
            game = game.play(computer.choose(game))
    assert_state(state, game)
    assert ask("take_back", id="game-1") == before
    block = state["moves"][len(before["moves"])]["block"]
    assert_state(ask("move", id="game-1", block=block), game)


def test_seed_decides_who_begins_by_chance(ask: ToolClient) -> None:
    first, again = (
        [ask("start_game", game="race", first="random", seed=seed)["to_move"] for seed in range(12)]
        for _ in range(2)
    )
    assert first == again
    assert set(first) == {1, 2}
    assert len({ask("start_game", game="race")["seed"] for _ in range(3)}) == 3


def test_move_says_what_the_computer_answered_and_nothing_twice(ask: ToolClient) -> None:
    ask("start_game", game="draft", opponent="perfect", seat=2, seed=1)
    assert ask.read("move", id="game-1", block=6).startswith("The computer placed 5.\n")
    ask("start_game", rules={"blocks": "1-3"})
    text = ask.read("move", id="game-2", block=2)
    assert text.startswith("game-2, your own rules. You move for both")
    assert text.count("Player 1 placed 2") == 1


@pytest.mark.parametrize("lists", [True, False])
# The argument is a case.
def test_after_the_end_nothing_is_said_about_a_player_to_move(lists: bool) -> None:  # noqa: FBT001
    with open_client(lists=lists) as ask:
        for number, block in enumerate((9, 8), 1):
            key = f"game-{number}"
            ask("start_game", game="race", target=9)
            ask("move", id=key, block=block)
            if block == 8:
                ask("resign", id=key)
            analysis = ask("analyse", id=key)
            over = "The game is over: Player 1 has won."
            assert ask.read("analyse", id=key) == analysis["verdict"] == over
            assert (analysis["to_move"], analysis["value"], analysis["values"]) == (None, None, [])
            assert analysis["result"]["winner"] == 1
        assert ask("open_games")["games"]["game-1"] == "race(target=9):9"
        assert "game-2 was resigned" in ask.refuse("take_back", id="game-2")
        assert len(ask("see_game", id="game-2")["moves"]) == 1
        assert ask("take_back", id="game-1")["moves"] == []


def test_game_without_a_first_move_is_over_at_once(ask: ToolClient) -> None:
    state = ask("start_game", rules=NO_OPENING.to_dict(), opponent="perfect", seat=2)
    assert state["result"] == {"winner": 2, "reason": "stuck"}
    assert "is over" in ask.refuse("move", id="game-1", block=5)


def test_finished_game_makes_room(ask: ToolClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_GAMES", 3)
    for _ in range(3):
        ask("start_game", game="draft")
    assert "3 games are open" in ask.refuse("start_game", game="draft")
    ask("resign", id="game-2")
    assert ask("start_game", game="draft")["id"] == "game-4"
    assert "no game with the id 'game-2'" in ask.refuse("see_game", id="game-2")
    assert list(ask("open_games")["games"]) == ["game-1", "game-3", "game-4"]


# What is not shown --------------------------------------------------------------------------------


def test_without_lists_no_answer_lists_the_legal_blocks() -> None:
    with open_client(lists=False) as ask:
        text = ask.read("start_game", game="climb", legal=True)
        ask("move", id="game-1", block=12)
        state, analysis = ask("see_game", id="game-1"), ask("analyse", id="game-1")
        text += ask.read("see_game", id="game-1") + ask.read("analyse", id="game-1")
        text += ask.refuse("move", id="game-1", block=30)
        assert (state["legal"], analysis["values"], analysis["value"]) == (None, None, "loss")
        assert "may place" not in text
        assert "13, 14, 15, 16, 17" not in text.replace("13, 14, 15, 16, 17, 18", "the pool")
        (value,) = ask("analyse", id="game-1", block=15)["values"]
        assert value["block"] == 15
        assert "does not fit on 12" in ask.refuse("analyse", id="game-1", block=30)


def test_single_game_can_be_without_lists(ask: ToolClient) -> None:
    assert ask("start_game", game="climb", legal=False)["legal"] is None
    assert ask("start_game", game="climb")["legal"] is not None


def test_without_help_there_are_no_hints() -> None:
    with open_client(helps=False) as ask:
        tools = [tool.name for tool in ask.list_tools()]
        assert tools == [tool for tool in TOOLS if tool not in {"hint", "analyse"}]
        ask("start_game", game="draft")
        problem = "there is no tool 'hint'; the tools are list_games"
        assert problem in ask.refuse("hint", id="game-1")
        assert "hint" not in ask.instructions


def test_hidden_blocks_stay_hidden_until_the_game_is_over(ask: ToolClient) -> None:
    state = ask("start_game", game="summit", hidden=True)
    assert (state["legal"], state["players"][0]["left"]) == (None, None)
    ask("move", id="game-1", block=9)
    ask("move", id="game-1", block=8)
    refusal = ask.refuse("move", id="game-1", block=9)
    assert refusal == "9 cannot be placed: it is not available."
    for tool in ("hint", "analyse"):
        assert "hidden in game-1" in ask.refuse(tool, id="game-1")
    assert "may place" not in ask.read("see_game", id="game-1")
    ask("move", id="game-1", block=3)
    assert "over" in ask("analyse", id="game-1")["verdict"]


# Analysis and hints -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIVE)
def test_analysis_and_hints_are_those_of_the_solver(ask: ToolClient, name: str) -> None:
    ask("start_game", game=name)
    analysis, solution = ask("analyse", id="game-1"), solve(Game(FIVE[name]))
    assert (analysis["value"], analysis["plies"]) == (solution.value, solution.plies)
    assert analysis["note"] == ""
    values = {move["block"]: (move["value"], move["plies"]) for move in analysis["values"]}
    assert values == {block: tuple(worth) for block, worth in solution.moves.items()}
    assert tuple(values)[: len(solution.best)] == solution.best
    assert all(move["reason"] for move in analysis["values"])
    for line in ask.read("analyse", id="game-1").splitlines()[1:]:
        assert not re.search(r"\((?:each )?(\w+) in .*\): (?:it )?\1", line)
    hints = [ask("hint", id="game-1", step=step) for step in (1, 2, 3)]
    assert [len(hint["hints"]) for hint in hints] == [1, 2, 3]
    assert [hint["more"] for hint in hints] == [True, True, False]
    assert hints[0]["block"] is None
    assert hints[2]["block"] in solution.best
    assert not any(letter.isdigit() for letter in hints[0]["hints"][0])
    single = ask("analyse", id="game-1", block=5)["values"]
    assert single == [move for move in analysis["values"] if move["block"] == 5]


def test_search_that_takes_too_long_is_reported_and_does_not_block_moves(
    ask: ToolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, moved = threading.Semaphore(0), threading.Event()

    def analyse_after_moves(*args: Any, **options: Any) -> analysis.PositionAnalysis:
        begun.release()
        assert moved.wait(SLOW)
        return analysis.analyse_table(*args, **options)

    monkeypatch.setattr(server, "analyse_table", analyse_after_moves)
    ask("start_game", rules=HARD)
    ask("start_game", game="draft")
    searches = [ask.start("analyse", id="game-1", seconds=0.4) for _ in range(3)]
    assert begun.acquire(timeout=SLOW)
    for block in (9, 8, 6):
        ask("move", id="game-2", block=block)
    moved.set()
    for search in searches:
        assert "not found out within 0.4 seconds," in search.result(SLOW)
    result = ask("analyse", id="game-1", seconds=0.1)
    assert result["value"] is None
    assert {move["value"] for move in result["values"]} == {None}


def test_cancelled_search_ends(ask: ToolClient, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Semaphore(0), threading.Semaphore(0)

    def watch_analysis(*args: Any, **options: Any) -> analysis.PositionAnalysis:
        begun.release()
        try:
            return analysis.analyse_table(*args, **options)
        finally:
            ended.release()

    monkeypatch.setattr(server, "analyse_table", watch_analysis)
    ask("start_game", rules=HARD)
    search = ask.start("analyse", id="game-1", seconds=30)
    assert begun.acquire(timeout=SLOW)
    search.cancel()
    assert ended.acquire(timeout=20), "before its 30 seconds are over"


def test_move_does_not_overwrite_a_change_that_came_while_the_computer_was_thinking(
    ask: ToolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinking, done = threading.Event(), threading.Event()

    def think(_: Computer, game: Game) -> int:
        thinking.set()
        assert done.wait(SLOW)
        return game.legal[0]

    monkeypatch.setattr(Computer, "choose", think)
    ask("start_game", game="draft", opponent="easy")
    move = ask.start("move", id="game-1", block=9)
    assert thinking.wait(SLOW)
    ask("resign", id="game-1")
    done.set()
    assert "was changed by another call" in move.result(SLOW)
    assert ask("see_game", id="game-1")["result"]["reason"] == "resigned"


# Arguments ----------------------------------------------------------------------------------------

LONG_CALLS: list[tuple[str, dict[str, object], str]] = [
    ("move", {"id": "game-1", "block": 10**5000}, "it is not a block of this game"),
    ("move", {"id": "game-1", "block": "9" * 1_000_000}, "so large a number cannot be placed"),
    ("move", {"id": "game-1", "block": "[" * 100_000}, "block: Input should be a valid integer"),
    ("start_game", {"game": "\0" * 100_000}, "there is no game called"),
    ("start_game", {"game": "draft", "target": 10**5000}, "target: expected a whole number"),
    ("see_game", {"id": "x" * 1_000_000}, "no game with the id 'xxx"),
]


def test_refusal_says_what_was_wrong_and_what_would_be_right(
    ask: ToolClient, snapshot: SnapshotAssertion
) -> None:
    ask("start_game", game="race", first=2)
    ask("move", id="game-1", block=9)
    ask("move", id="game-1", block=9)
    before = ask("see_game", id="game-1")
    refusals = {}
    for call in (DATA / "wrong_tool_calls.txt").read_text().splitlines():
        tool, arguments = call.split(maxsplit=1)
        refusals[call] = ask.refuse(tool, **json.loads(arguments))
    assert refusals == snapshot
    for tool, long_arguments, problem in LONG_CALLS:
        refusals[tool] = ask.refuse(tool, **long_arguments)
        assert problem in refusals[tool]
    assert max(map(len, refusals.values())) < 500
    assert ask("see_game", id="game-1") == before
    assert len(ask("open_games")["games"]) == 1
    ask("resign", id="game-1")
    for tool, more in (("move", {"block": 1}), ("hint", {}), ("resign", {})):
        assert "game-1 is over: " in ask.refuse(tool, id="game-1", **more)


def test_arguments_that_come_as_text_are_converted(ask: ToolClient) -> None:
    state = ask(
        "start_game", game=" Draft ", target="21", seat="1", first="2", seed="3", legal="true"
    )
    assert (state["rules"]["target"], state["to_move"], state["seed"]) == (21, 2, 3)
    document = json.dumps({"blocks": [1, 2, 4], "target": None})
    state = ask("start_game", rules=document, opponent=None)
    assert state["rules"]["blocks"] == "1,2,4"
    rules = {"blocks": ["1", 2.0, 3], "fit": "ascending", "step": "2", "target": "6"}
    state = ask("start_game", rules=rules)
    assert state["rules"] | {"blocks": "1-3", "step": 2, "target": 6} == state["rules"]
    result = ask("analyse", id="game-3", seconds=" 0.5 ", block="1")
    assert [move["block"] for move in result["values"]] == [1]


def test_block_is_its_number_however_it_is_written(ask: ToolClient) -> None:
    blocks = [6, 6.0, "6", " 06 ", "[6]", "[ 06 ]", [6], ["6"], [6.0], ["[6]"]]
    for number, block in enumerate(blocks, 1):
        ask("start_game", game="draft")
        state = ask("move", id=f"game-{number}", block=block)
        assert state["moves"] == [{"seat": 1, "block": 6}]


def test_null_is_accepted_for_every_optional_argument(ask: ToolClient) -> None:
    tools = {tool.name: tool.input_schema for tool in ask.list_tools()}
    ask("start_game", game="draft", blocks="1-5", target=9, seed=1)
    for name in ("start_game", "read_rules", "hint", "analyse"):
        needed = {"game": "draft"} if name in {"start_game", "read_rules"} else {"id": "game-1"}
        optional = set(tools[name]["properties"]) - set(needed)
        plain = ask(name, **needed)
        for null in (None, "null"):
            answer = ask(name, **needed, **dict.fromkeys(optional, null))
            assert answer == plain | {key: answer[key] for key in {"id", "seed"} & set(answer)}


# The command --------------------------------------------------------------------------------------


def test_command_speaks_only_the_protocol_and_ends_with_its_client() -> None:
    command = StdioServerParameters(
        command=TOWER, args=["mcp", "--no-legal"], env=plain_environment(), cwd=ROOT
    )
    with open_client(Client(command, mode="legacy")) as ask:
        state = ask("start_game", game="draft", opponent="perfect", seed=1)
        assert state["legal"] is None
        state = ask("move", id=state["id"], block=9)
        assert len(state["moves"]) == 2
        assert "used already" in ask.refuse("move", id=state["id"], block=9)


def test_command_ignores_nonsense_and_ends_at_once_with_ctrl_c() -> None:
    about = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
    with subprocess.Popen(
        [TOWER, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
        env=plain_environment(),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(f"this is no protocol\n{hello}\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline())]
        while answers[-1].get("id") != 1:
            answers.append(json.loads(process.stdout.readline()))
        assert answers[-1]["result"]["serverInfo"]["name"] == "number-tower"
        process.send_signal(signal.SIGINT)
        assert process.wait(SLOW) == 130
        assert process.stdout.read() == ""
        assert process.stderr.read() == "tower: stopped\n"


def test_without_the_extra_the_command_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("number_tower.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert main(["mcp"]) == 1
    assert format_install_command("mcp") in capsys.readouterr().err
