"""The games over the Model Context Protocol: the official client plays them.

Errors say what would be right.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import pytest
from mcp_types import CallToolResult, TextContent

from mcp import Client, StdioServerParameters
from number_tower import Game, Rules, solve
from number_tower.coach import analysis
from number_tower.engine import catalogue, record
from number_tower.engine.rules import MAX_SERVED_TARGET
from number_tower.mcp import server
from number_tower.mcp.server import TowerServer, make_server
from number_tower.players import LEVELS, Computer
from number_tower.support.installation import format_install_command
from number_tower.terminal.cli.main import main
from support.clocks import SLOW
from support.command import ROOT, TOWER, plain_environment
from support.rulesets import FIVE, NO_OPENING, RULESETS

TOOLS = [
    "list_games", "read_rules", "start_game", "see_game", "move", "take_back", "open_games",
    "resign", "hint", "analyse",
]  # fmt: skip
SERVED = [rules for rules in RULESETS if (rules.target or 0) <= MAX_SERVED_TARGET]
HARD = {"blocks": "1-60", "towers": "own", "fit": "descending", "target": 400, "stuck": "skips"}


class RefusedError(Exception):
    """A tool said that something cannot be done."""


class Player:
    """A client that calls tools and takes errors as what they are."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def text(self, name: str, /, **arguments: object) -> str:
        return text(await self.called(name, arguments))

    async def __call__(self, name: str, /, **arguments: object) -> dict[str, Any]:
        found = (await self.called(name, arguments)).structured_content
        assert isinstance(found, dict)
        return found

    async def called(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        answer = await self.client.call_tool(name, arguments)
        assert len(text(answer)) < 30_000
        if answer.is_error:
            raise RefusedError(text(answer))
        return answer

    async def refused(self, name: str, /, **arguments: object) -> str:
        with pytest.raises(RefusedError) as refusal:
            await self.called(name, arguments)
        return str(refusal.value)


def text(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


def playing(
    play: Callable[[Player], Awaitable[None]], made: TowerServer | None = None, **choices: Any
) -> None:
    """Let a client play at a server in this process."""

    async def run() -> None:
        async with Client(made or make_server(**choices)) as client:
            await play(Player(client))

    asyncio.run(asyncio.wait_for(run(), SLOW))


def same(state: dict[str, Any], game: Game) -> None:
    outcome = game.outcome
    assert [move["block"] for move in state["moves"]] == list(game.moves)
    assert [move["seat"] - 1 for move in state["moves"]] == list(game.movers)
    assert state["legal"] == list(game.legal)
    assert state["to_move"] == (None if outcome else game.to_move + 1)
    assert [player["height"] for player in state["players"]] == list(game.heights)
    assert [tuple(player["tower"]) for player in state["players"]] == list(game.towers)
    assert [tuple(player["left"]) for player in state["players"]] == [
        game.rules.numbers(left) for left in game.position.left
    ]
    winner = None if outcome is None or outcome.winner is None else outcome.winner + 1
    assert state["result"] == (
        None if outcome is None else {"winner": winner, "reason": outcome.reason}
    )
    assert record.from_line(state["record"]).game == game


def test_every_tool_is_described_and_says_what_it_does_to_games() -> None:
    async def play(ask: Player) -> None:
        tools = (await ask.client.list_tools()).tools
        assert [tool.name for tool in tools] == TOOLS
        for tool in tools:
            assert tool.description
            assert "  " not in tool.description
            assert tool.output_schema
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is (
                tool.name not in {"start_game", "move", "take_back", "resign"}
            )
            for argument in tool.input_schema["properties"].values():
                assert argument["description"]
        assert "start_game" in (ask.client.instructions or "")
        offer = await ask("list_games")
        assert [game["name"] for game in offer["games"]] == list(catalogue.list_names())
        assert list(offer["opponents"]) == ["random", *LEVELS]

    playing(play)


def test_presets_are_listed_and_played_and_options_count_before_them() -> None:
    async def play(ask: Player) -> None:
        listed = {game["name"]: game["presets"] for game in (await ask("list_games"))["games"]}
        for book in catalogue.load_all():
            assert list(listed[book.name]) == list(book.presets)
            for name, preset in book.presets.items():
                assert listed[book.name][name] == preset.describe()
                same(
                    await ask("start_game", game=book.name, preset=name),
                    Game(book.apply_options(preset.options)),
                )
                other = book.apply_options({**preset.options, "blocks": "1-20"})
                rules = await ask("read_rules", game=book.name, preset=name, blocks="1-20")
                assert rules["rules"] == other.to_dict()
        assert "draft has no preset 'depe'" in await ask.refused(
            "start_game", game="draft", preset="depe"
        )
        assert "preset: Input should be" in await ask.refused("start_game", game="draft", preset=3)
        own = await ask.refused("start_game", rules={"blocks": "1-3"}, preset="deep")
        assert "there are no presets for rules" in own

    playing(play)


def test_random_games_go_as_in_the_engine_though_they_are_played_at_once() -> None:
    rng = random.Random(4)  # noqa: S311 - play

    async def play(ask: Player) -> None:
        going: dict[str, Game] = {}
        for number, rules in enumerate([*FIVE.values(), *SERVED]):
            game = Game(rules, number % 2)
            given = (
                {"game": list(FIVE)[number]} if number < len(FIVE) else {"rules": rules.to_dict()}
            )
            state = await ask("start_game", **given, first=game.first + 1)
            same(state, game)
            going[state["id"]] = game
        assert len(going) == len(FIVE) + len(SERVED)
        while open_ids := [each for each, game in going.items() if game.outcome is None]:
            which = rng.choice(open_ids)
            block = rng.choice(going[which].legal)
            going[which] = going[which].play(block)
            same(await ask("move", id=which, block=block), going[which])
        for which, game in going.items():
            same(await ask("see_game", id=which), game)
        listed = (await ask("open_games"))["games"]
        assert {key: record.from_line(line).game for key, line in listed.items()} == going

    playing(play)


@pytest.mark.parametrize("seat", [1, 2])
def test_an_opponent_plays_as_its_seed_says_and_moves_are_taken_back_with_its_answers(
    seat: int,
) -> None:
    async def play(ask: Player) -> None:
        state = await ask("start_game", game="draft", opponent="fair", seat=seat, seed=5)
        assert "you have made no move in game-1" in await ask.refused("take_back", id="game-1")
        computer, game = Computer(LEVELS["fair"], 5), Game(FIVE["draft"])
        assert [player["computer"] for player in state["players"]] == (
            ["fair", None] if seat == 2 else [None, "fair"]
        )
        before = state
        while game.outcome is None:
            if game.to_move == seat - 1:
                same(state, game)
                before = state
                game = game.play(game.legal[0])
                state = await ask("move", id="game-1", block=game.moves[-1])
            else:
                game = game.play(computer.choose(game))
        same(state, game)
        assert await ask("take_back", id="game-1") == before
        same(
            await ask("move", id="game-1", block=state["moves"][len(before["moves"])]["block"]),
            game,
        )

    playing(play)


def test_a_first_player_by_chance_and_a_seed_by_chance_are_told() -> None:
    async def play(ask: Player) -> None:
        states = [
            await ask("start_game", game="race", first="random", seed=seed) for seed in range(12)
        ]
        assert {state["to_move"] for state in states} == {1, 2}
        again = [
            await ask("start_game", game="race", first="random", seed=seed) for seed in range(12)
        ]
        assert [state["to_move"] for state in states] == [state["to_move"] for state in again]
        seeds = {(await ask("start_game", game="race"))["seed"] for _ in range(3)}
        assert len(seeds) == 3

    playing(play)


def test_analysis_and_hints_tell_the_truth() -> None:
    async def play(ask: Player) -> None:
        for number, name in enumerate(FIVE, 1):
            await ask("start_game", game=name)
            truth, solution = await ask("analyse", id=f"game-{number}"), solve(Game(FIVE[name]))
            assert (truth["value"], truth["plies"], truth["note"]) == (
                solution.value,
                solution.plies,
                "",
            )
            found = {move["block"]: (move["value"], move["plies"]) for move in truth["values"]}
            assert found == {block: tuple(worth) for block, worth in solution.moves.items()}
            assert all(move["reason"] for move in truth["values"])
            for line in (await ask.text("analyse", id=f"game-{number}")).splitlines()[1:]:
                assert not re.search(r"\((?:each )?(\w+) in .*\): (?:it )?\1", line)
            assert (
                tuple(move["block"] for move in truth["values"][: len(solution.best)])
                == solution.best
            )
            hints = [await ask("hint", id=f"game-{number}", step=step) for step in (1, 2, 3)]
            assert [len(hint["hints"]) for hint in hints] == [1, 2, 3]
            assert [hint["more"] for hint in hints] == [True, True, False]
            assert hints[0]["block"] is None
            assert hints[2]["block"] in solution.best
            assert not any(letter.isdigit() for letter in hints[0]["hints"][0])
            one = await ask("analyse", id=f"game-{number}", block=5)
            assert one["values"] == [move for move in truth["values"] if move["block"] == 5]

    playing(play)


@pytest.mark.parametrize("lists", [True, False])
# The argument is a case.
def test_after_the_end_nothing_is_said_about_a_player_to_move(lists: bool) -> None:  # noqa: FBT001
    async def play(ask: Player) -> None:
        for ending in ("by a move", "by word"):
            which = (await ask("start_game", game="race", target=9))["id"]
            await ask("move", id=which, block=9 if ending == "by a move" else 8)
            if ending == "by word":
                await ask("resign", id=which)
            truth = await ask("analyse", id=which)
            assert (
                await ask.text("analyse", id=which)
                == truth["verdict"]
                == "The game is over: Player 1 has won."
            )
            assert (
                truth["to_move"],
                truth["value"],
                truth["values"],
                truth["result"]["winner"],
            ) == (None, None, [], 1)
        listed = (await ask("open_games"))["games"]
        assert listed["game-1"] == "race(target=9):9"
        assert "game-2 was resigned" in await ask.refused("take_back", id="game-2")
        assert len((await ask("see_game", id="game-2"))["moves"]) == 1
        assert (await ask("take_back", id="game-1"))["moves"] == []

    playing(play, lists=lists)


def test_a_move_tells_what_the_computer_answered_and_nothing_twice() -> None:
    async def play(ask: Player) -> None:
        await ask("start_game", game="draft", opponent="perfect", seat=2, seed=1)
        assert (await ask.text("move", id="game-1", block=6)).splitlines()[
            0
        ] == "The computer placed 5."
        await ask("start_game", rules={"blocks": "1-3"})
        said = await ask.text("move", id="game-2", block=2)
        assert said.startswith("game-2, your own rules. You move for both")
        assert said.count("Player 1 placed 2") == 1

    playing(play)


def test_what_cannot_be_found_out_in_time_is_said_and_nothing_else_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, moved = threading.Semaphore(0), threading.Event()

    def after_the_moves(*args: Any, **more: Any) -> analysis.PositionAnalysis:
        begun.release()
        assert moved.wait(SLOW)
        return analysis.analyse_table(*args, **more)

    async def play(ask: Player) -> None:
        await ask("start_game", rules=HARD)
        await ask("start_game", game="draft")

        async def search() -> None:
            truth = await ask("analyse", id="game-1", seconds=0.4)
            assert truth["value"] is None
            assert "not found out within 0.4 seconds," in truth["verdict"]
            assert {move["value"] for move in truth["values"]} == {None}

        async def moves() -> None:
            await asyncio.to_thread(begun.acquire)
            for block in (9, 8, 6):
                await ask("move", id="game-2", block=block)
            moved.set()

        await asyncio.gather(search(), search(), search(), moves())

    monkeypatch.setattr("number_tower.mcp.server.analyse_table", after_the_moves)
    playing(play)


def test_a_search_is_left_when_nobody_waits_for_it_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, left = threading.Semaphore(0), threading.Semaphore(0)

    def watched(*args: Any, **more: Any) -> analysis.PositionAnalysis:
        begun.release()
        try:
            return analysis.analyse_table(*args, **more)
        finally:
            left.release()

    async def play(ask: Player) -> None:
        await ask("start_game", rules=HARD)
        search = partial(ask, "analyse", id="game-1", seconds=30)
        async with anyio.create_task_group() as group:
            group.start_soon(search)
            await asyncio.to_thread(begun.acquire)
            group.cancel_scope.cancel()
        task = asyncio.create_task(search())
        await asyncio.to_thread(begun.acquire)
        task.cancel()
        for _ in range(2):
            assert await asyncio.to_thread(left.acquire, timeout=SLOW)

    monkeypatch.setattr("number_tower.mcp.server.analyse_table", watched)
    playing(play)


def test_without_lists_nothing_lists_what_may_be_placed() -> None:
    async def play(ask: Player) -> None:
        said = await ask.text("start_game", game="climb", legal=True)
        await ask("move", id="game-1", block=12)
        state = await ask("see_game", id="game-1")
        said += await ask.text("see_game", id="game-1") + await ask.refused(
            "move", id="game-1", block=30
        )
        truth = await ask("analyse", id="game-1")
        said += await ask.text("analyse", id="game-1")
        assert (state["legal"], truth["values"], truth["value"]) == (None, None, "loss")
        assert "may place" not in said
        assert "13, 14, 15, 16, 17" not in said.replace("13, 14, 15, 16, 17, 18", "the pool")
        assert [
            move["block"] for move in (await ask("analyse", id="game-1", block=15))["values"]
        ] == [15]
        assert "does not fit on 12" in await ask.refused("analyse", id="game-1", block=30)

    playing(play, lists=False)
    playing(_one_game_without_lists)


async def _one_game_without_lists(ask: Player) -> None:
    assert (await ask("start_game", game="climb", legal=False))["legal"] is None
    assert (await ask("start_game", game="climb"))["legal"] is not None


def test_without_help_there_is_none() -> None:
    async def play(ask: Player) -> None:
        assert [tool.name for tool in (await ask.client.list_tools()).tools] == [
            tool for tool in TOOLS if tool not in {"hint", "analyse"}
        ]
        await ask("start_game", game="draft")
        assert "there is no tool 'hint'; the tools are list_games" in await ask.refused(
            "hint", id="game-1"
        )
        assert "hint" not in (ask.client.instructions or "")

    playing(play, helps=False)


def test_hidden_blocks_stay_hidden_until_the_game_is_over() -> None:
    async def play(ask: Player) -> None:
        state = await ask("start_game", game="summit", hidden=True)
        await ask("move", id="game-1", block=9)
        await ask("move", id="game-1", block=8)
        assert (state["legal"], state["players"][0]["left"]) == (None, None)
        assert (
            await ask.refused("move", id="game-1", block=9)
            == "9 cannot be placed: it is not available."
        )
        for tool in ("hint", "analyse"):
            assert "hidden in game-1" in await ask.refused(tool, id="game-1")
        assert "may place" not in await ask.text("see_game", id="game-1")
        await ask("move", id="game-1", block=3)
        assert "over" in (await ask("analyse", id="game-1"))["verdict"]

    playing(play)


def test_a_game_that_is_over_before_it_begins_says_so() -> None:
    async def play(ask: Player) -> None:
        state = await ask("start_game", rules=NO_OPENING.to_dict(), opponent="perfect", seat=2)
        assert state["result"] == {"winner": 2, "reason": "stuck"}
        assert "is over" in await ask.refused("move", id="game-1", block=5)

    playing(play)


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("play", {}, "there is no tool 'play'; the tools are list_games, read_rules, start_game"),
    ("move", {"id": "game-1"}, "the argument block is missing: The number on the block"),
    (
        "move",
        {"id": "game-1", "block": 1, "seat": 1},
        "move takes no argument 'seat'; it takes id, block.",
    ),
    (
        "move",
        {"id": "game-7", "block": 1},
        "there is no game with the id 'game-7'; see open_games.",
    ),
    ("see_game", {"id": None}, "the argument id is missing: The id of a game from start_game"),
    ("see_game", {"id": "x" * 1_000_000}, "no game with the id 'xxx"),
    (
        "move",
        {"id": "game-1", "block": 10},
        "10 cannot be placed: it is not a block of this game; the blocks are 1-9",
    ),
    (
        "move",
        {"id": "game-1", "block": 9},
        "9 cannot be placed: it has been used already; you may place 1, 2, 3",
    ),
    ("move", {"id": "game-1", "block": -3}, "-3 cannot be placed"),
    (
        "move",
        {"id": "game-1", "block": 10**5000},
        "cannot be placed: it is not a block of this game",
    ),
    (
        "move",
        {"id": "game-1", "block": "nine"},
        "block: Input should be a valid integer; got 'nine'",
    ),
    (
        "move",
        {"id": "game-1", "block": "I place [4]"},
        "block: Input should be a valid integer; got 'I pl",
    ),
    ("move", {"id": "game-1", "block": 1.5}, "block: Input should be a valid integer; got 1.5"),
    ("move", {"id": "game-1", "block": 1e300}, "so large a number cannot be placed: it is no"),
    ("move", {"id": "game-1", "block": True}, "block: Input should be a valid integer; got True"),
    (
        "move",
        {"id": "game-1", "block": "[1, 2]"},
        "block: Input should be a valid integer; got [1, 2]",
    ),
    (
        "move",
        {"id": "game-1", "block": "[" * 100_000},
        "block: Input should be a valid integer; got '[[[",
    ),
    ("move", {"id": "game-1", "block": "[9]"}, "9 cannot be placed: it has been used already"),
    (
        "move",
        {"id": "game-1", "block": "9" * 1_000_000},
        "so large a number cannot be placed: it is no",
    ),
    (
        "analyse",
        {"id": "game-1", "block": "999999999999999999999999999999"},
        "so large a number cannot be placed: it is not a block",
    ),
    (
        "start_game",
        {},
        "expected either a game (climb, draft, factor, race, summit) or your own rules",
    ),
    ("start_game", {"game": "draft", "rules": {}}, "not both"),
    (
        "start_game",
        {"game": "chess"},
        "there is no game called 'chess'; the games are climb, draft",
    ),
    ("start_game", {"game": "/etc/passwd"}, "there is no game called '/etc/passwd'"),
    (
        "start_game",
        {"game": 7},
        "game: Input should be a valid string; got 7. A game's name; see list_games.",
    ),
    ("start_game", {"game": "\0" * 100_000}, "there is no game called"),
    (
        "start_game",
        {"game": "climb", "target": 9},
        "climb has no option target; it has blocks, opening.",
    ),
    ("start_game", {"game": "draft", "hidden": True}, "draft has no option hidden"),
    (
        "start_game",
        {"game": "draft", "hidden": "perhaps"},
        "hidden: Input should be a valid boolean, unable to interpret input; got 'perhaps'.",
    ),
    ("start_game", {"game": "draft", "target": 0}, "target: expected a whole number"),
    ("start_game", {"game": "draft", "target": 10**5000}, "target: expected a whole number"),
    (
        "start_game",
        {"game": "draft", "blocks": "many"},
        "blocks: expected positive whole numbers, such as 1-9",
    ),
    ("start_game", {"game": "draft", "blocks": []}, "blocks: expected at least one block"),
    (
        "start_game",
        {"game": "draft", "blocks": {"1": 2}},
        "blocks: Input should be a valid string; got {'1': 2}.",
    ),
    (
        "start_game",
        {"game": "draft", "opening": [77]},
        "opening: expected blocks of this game (1-9); got 77",
    ),
    (
        "start_game",
        {"game": "draft", "opponent": "genius"},
        "opponent: expected none or one of random, gentle",
    ),
    (
        "start_game",
        {"game": "draft", "seat": 3},
        "seat: Input should be less than or equal to 2; got 3.",
    ),
    (
        "start_game",
        {"game": "draft", "first": "me"},
        "first: Input should be 1, 2 or 'random'; got 'me'.",
    ),
    (
        "start_game",
        {"game": "draft", "seed": -1},
        "seed: Input should be greater than or equal to 0; got -1.",
    ),
    (
        "start_game",
        {"rules": "mygame.toml"},
        "rules: Input should be a valid dictionary; got 'mygame.toml'. Your own rules, such as",
    ),
    (
        "start_game",
        {"rules": {"fit": "sideways"}},
        "rules.fit: Input should be 'any', 'descending',",
    ),
    ("start_game", {"rules": {"size": 3}}, "size: unknown; expected one of blocks, supply"),
    ("start_game", {"rules": {"supply": "endless"}}, "supply: with endless blocks, no target"),
    (
        "start_game",
        {"rules": {"target": "15.5"}},
        "rules.target: Input should be a valid integer; got '15.5'.",
    ),
    (
        "start_game",
        {"rules": {"fit": "ascending", "step": True}},
        "rules.step: Input should be a valid integer; got True.",
    ),
    (
        "start_game",
        {"rules": {"blocks": "1-1000000"}},
        "blocks: expected at most 1,000 here; got 1,000,000",
    ),
    (
        "start_game",
        {"rules": {"supply": "endless", "target": 10**18}},
        "target: ",
    ),
    ("read_rules", {"game": "../draft"}, "there is no game called"),
    ("hint", {"id": "game-1", "step": 4}, "step: Input should be less than or equal to 3; got 4."),
    (
        "analyse",
        {"id": "game-1", "seconds": 1000000000.0},
        "seconds: Input should be less than or equal to 30; got",
    ),
    ("analyse", {"id": "game-1", "seconds": "long"}, "seconds: Input should be a valid number"),
    ("analyse", {"id": "game-1", "block": 9}, "9 cannot be placed"),
]


def test_every_error_says_what_was_wrong_and_what_would_be_right() -> None:
    async def play(ask: Player) -> None:
        await ask("start_game", game="race", first=2)
        await ask("move", id="game-1", block=9)
        await ask("move", id="game-1", block=9)
        before = await ask("see_game", id="game-1")
        for tool, arguments, expected in WRONG:
            said = await ask.refused(tool, **arguments)
            assert expected in said, (tool, expected)
            assert len(said) < 500
            assert "Error executing" not in said
        assert await ask("see_game", id="game-1") == before
        assert len((await ask("open_games"))["games"]) == 1
        await ask("resign", id="game-1")
        for tool in ("move", "hint", "resign"):
            more = {"block": 1} if tool == "move" else {}
            assert "game-1 is over: " in await ask.refused(tool, id="game-1", **more)

    playing(play)


def test_arguments_that_came_as_text_are_read_all_the_same() -> None:
    async def play(ask: Player) -> None:
        state = await ask(
            "start_game", game=" Draft ", target="21", seat="1", first="2", seed="3", legal="true"
        )
        assert (state["rules"]["target"], state["to_move"], state["seed"]) == (21, 2, 3)
        state = await ask(
            "start_game", rules=json.dumps({"blocks": [1, 2, 4], "target": None}), opponent=None
        )
        assert state["rules"]["blocks"] == "1,2,4"
        state = await ask(
            "start_game",
            rules={"blocks": ["1", 2.0, 3], "fit": "ascending", "step": "2", "target": "6"},
        )
        assert state["rules"] | {"blocks": "1-3", "step": 2, "target": 6} == state["rules"]
        truth = await ask("analyse", id="game-3", seconds=" 0.5 ", block="1")
        assert [move["block"] for move in truth["values"]] == [1]

    playing(play)


def test_a_block_is_its_number_however_it_is_written() -> None:
    async def play(ask: Player) -> None:
        for number, written in enumerate(
            [6, 6.0, "6", " 06 ", "[6]", "[ 06 ]", [6], ["6"], [6.0], ["[6]"]], 1
        ):
            await ask("start_game", game="draft")
            assert (await ask("move", id=f"game-{number}", block=written))["moves"] == [
                {"seat": 1, "block": 6}
            ]

    playing(play)


def test_null_is_as_good_as_nothing_for_every_argument_that_may_be_left_out() -> None:
    async def play(ask: Player) -> None:
        tools = {tool.name: tool.input_schema for tool in (await ask.client.list_tools()).tools}
        await ask("start_game", game="draft", blocks="1-5", target=9, seed=1)
        for name in ("start_game", "read_rules", "hint", "analyse"):
            needed = {"game": "draft"} if name in {"start_game", "read_rules"} else {"id": "game-1"}
            optional = set(tools[name]["properties"]) - set(needed)
            plain = await ask(name, **needed)
            for null in (None, "null"):
                answer = await ask(name, **needed, **dict.fromkeys(optional, null))
                assert answer == plain | {key: answer[key] for key in {"id", "seed"} & set(answer)}

    playing(play)


def test_there_are_only_so_many_games_and_finished_ones_make_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "MAX_GAMES", 3)

    async def play(ask: Player) -> None:
        for _ in range(3):
            await ask("start_game", game="draft")
        said = await ask.refused("start_game", game="draft")
        assert "3 games are open" in said
        await ask("resign", id="game-2")
        assert (await ask("start_game", game="draft"))["id"] == "game-4"
        assert "no game with the id 'game-2'" in await ask.refused("see_game", id="game-2")
        assert list((await ask("open_games"))["games"]) == ["game-1", "game-3", "game-4"]

    playing(play)


def test_a_move_never_overwrites_one_that_came_while_the_computer_was_thinking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thinking, done = threading.Event(), threading.Event()

    def think(_: Computer, game: Game) -> int:
        thinking.set()
        assert done.wait(SLOW)
        return game.legal[0]

    async def play(ask: Player) -> None:
        await ask("start_game", game="draft", opponent="easy")

        async def resign() -> None:
            await asyncio.to_thread(thinking.wait)
            await ask("resign", id="game-1")
            done.set()

        said, _ = await asyncio.gather(ask.refused("move", id="game-1", block=9), resign())
        assert "was changed by another call" in said
        assert (await ask("see_game", id="game-1"))["result"]["reason"] == "resigned"

    monkeypatch.setattr(Computer, "choose", think)
    playing(play)


def test_the_command_speaks_nothing_but_the_protocol_and_ends_with_its_client() -> None:
    async def run() -> None:
        command = StdioServerParameters(
            command=TOWER, args=["mcp", "--no-legal"], env=plain_environment(), cwd=ROOT
        )
        async with Client(command, mode="legacy") as client:
            ask = Player(client)
            state = await ask("start_game", game="draft", opponent="perfect", seed=1)
            assert state["legal"] is None
            state = await ask("move", id=state["id"], block=9)
            assert len(state["moves"]) == 2
            assert "used already" in await ask.refused("move", id=state["id"], block=9)

    asyncio.run(asyncio.wait_for(run(), SLOW))


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal on Linux and macOS")
def test_the_command_bears_nonsense_and_ends_at_once_with_ctrl_c() -> None:
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


def test_without_the_extra_there_is_advice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("number_tower.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert main(["mcp"]) == 1
    assert format_install_command("mcp") in capsys.readouterr().err


def test_no_rules_are_too_odd_to_be_told() -> None:
    async def play(ask: Player) -> None:
        for rules in [*SERVED, Rules(blocks=range(1, 1001), fit="related")]:
            told = await ask("read_rules", rules=rules.to_dict())
            assert Rules.from_dict(told["rules"]) == rules
        assert "exactly 21" in await ask.text("read_rules", game="draft", target=21)

    playing(play)
