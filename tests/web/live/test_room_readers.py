"""What a room's page says to each visitor: the same everywhere, and a loss is never celebrated."""

from __future__ import annotations

import json
import re
from functools import partial
from html import unescape
from random import Random

import pytest
from starlette.testclient import TestClient

from number_tower import Game
from number_tower.engine import catalogue
from number_tower.engine.table import Table
from number_tower.players import LEVELS, Computer
from number_tower.web.board.view import MAX_LOG_CHANGES
from number_tower.web.live.lobby import Lobby
from number_tower.web.live.new_room import NewRoom
from number_tower.words.voice import get_voice

CHEER = re.compile(r"congratulat|well done|\byou (have )?w[io]n|!", re.IGNORECASE)
YOU = re.compile(r"\byou(r|rs)?\b", re.IGNORECASE)
SKIP = (7, 1, 3)
"""Moves of draft after which the second player cannot place anything."""


class Page:
    """A page of a room, and what it says."""

    def __init__(self, client: TestClient, path: str) -> None:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        self.html = str(answer.text)
        self.status = self._find_text(r'id="status".*?>(.*?)</div>')
        self.headline = self._find_text(r'class="headline">(.*?)</p>')
        self.title = self._find_text(r"<title>(.*?)</title>")
        self.log = [
            self._strip_tags(line)
            for line in re.findall(r'class="words">(.*?)</span>', self.html, re.DOTALL)
        ]

    def _find_text(self, pattern: str) -> str:
        found = re.search(pattern, self.html, re.DOTALL)
        assert found, pattern
        return self._strip_tags(found[1])

    @staticmethod
    def _strip_tags(html: str) -> str:
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def lose(name: str, level: str) -> Table:
    """Return a game that a careless player has lost to a computer of a level."""
    book = catalogue.load_named(name)
    for seed in range(100):
        computer, rng, game = (
            Computer(LEVELS[level], seed),
            Random(seed),  # noqa: S311 - play, not secrets
            Game(book.rules, seed % 2),
        )
        while game.outcome is None:
            game = game.play(computer.choose(game) if game.to_move else rng.choice(game.legal))
        if game.outcome.winner == 1:
            return Table(game, name)
    raise AssertionError(f"{level} never wins {name}")


def open_room(client: TestClient, new: NewRoom) -> str:
    """Open a room for the visitor, whatever was played there before; return its address."""
    assert client.portal is not None
    client.post("/new", data={"opponent": "table"})  # for the cookie
    # The client has its app as a type without a state.
    lobby: Lobby = client.app.state.parts.lobby  # type: ignore[attr-defined]
    cached, _ = client.portal.call(
        partial(lobby.open_room, new, next(iter(client.cookies.values())))
    )
    return str(cached.address)


def link_two(client: TestClient, **wishes: str) -> tuple[str, str, TestClient]:
    """Let Ann and Ben play over a link; return their address, that for spectators, and Ben."""
    answer = client.post("/new", data={"opponent": "link", "name_1": "Ann", **wishes})
    room = str(answer.headers["location"])
    watch = re.findall(r">http://testserver(/w/[^<]+)<", client.get(room).text)[0]
    ben = TestClient(client.app, follow_redirects=False)
    assert ben.post(f"{room}/sit", data={"name": "Ben"}).status_code == 303
    return room, watch, ben


def place(client: TestClient, room: str, block: int) -> None:
    assert client.post(f"{room}/move", data={"block": str(block)}).status_code == 303


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", catalogue.list_names())
def test_a_loss_to_a_computer_is_told_alike_and_not_celebrated(
    client: TestClient, name: str, level: str
) -> None:
    page = Page(client, f"/g/{open_room(client, NewRoom(lose(name, level), level))}")
    winner = level.capitalize()
    assert f"{winner} wins" in page.headline
    assert page.headline.endswith("You lost this one.")
    assert page.title.startswith(page.headline.removesuffix("."))
    assert page.log[-1] == page.headline
    for text in (page.status, page.title, *page.log[1:]):
        assert not CHEER.search(text), text
    assert all(
        line.startswith((f"{winner} places", "You place"))
        for line in page.log
        if "place" in line.split()[:2][-1]
    )
    for mark in ('class="status over lost"', 'class="tag">won'):
        assert mark in page.html
    for mark in ("tower glad", "rays", "tag won", "icon-star"):
        assert mark not in page.html.split('id="status"')[1]


def test_the_winner_is_celebrated_and_a_spectator_reads_names(client: TestClient) -> None:
    room, watch, ben = link_two(client, game="race", target="9")
    place(client, room, 4)
    place(ben, room, 9)
    ann, winner, spectator = Page(client, room), Page(ben, room), Page(client, watch)
    assert ann.headline == "Ben wins: Ben's tower is exactly 9. You lost this one."
    assert winner.headline == "You win: your tower is exactly 9."
    assert spectator.headline == "Ben wins: Ben's tower is exactly 9."
    for page in (ann, winner, spectator):
        assert page.title.startswith(page.headline.removesuffix("."))
        assert page.log[-1] == page.headline
    assert ["glad" in page.html for page in (ann, winner, spectator)] == [False, True, True]


def test_a_forced_skip_is_told_to_everyone_in_status_and_log(client: TestClient) -> None:
    room, watch, ben = link_two(client, game="draft")
    game = Game(catalogue.load_named("draft").rules)
    for block in SKIP:
        place((client, ben)[game.to_move], room, block)
        game = game.play(block)
    assert game.movers[-1] == game.to_move == 0
    told = {
        Page(client, room): "Ben cannot place anything, so you play again.",
        Page(ben, room): "You cannot place anything, so Ann plays again.",
        Page(client, watch): "Ben cannot place anything, so Ann plays again.",
    }
    for page, words in told.items():
        assert words in page.status
        assert words in page.log


def test_a_forced_skip_is_told_at_one_table(client: TestClient) -> None:
    table = Table(Game(catalogue.load_named("draft").rules, moves=SKIP), "draft")
    page = Page(client, f"/g/{open_room(client, NewRoom(table, names=('Ann', 'Ben')))}")
    assert "Ben cannot place anything, so Ann plays again." in page.status
    assert "must skip" not in page.status
    assert page.status.startswith("Ann's Turn")


def test_a_spectator_never_reads_of_you(client: TestClient) -> None:
    waiting = str(
        client.post("/new", data={"game": "race", "opponent": "link"}).headers["location"]
    )
    watch = re.findall(r">http://testserver(/w/[^<]+)<", client.get(waiting).text)[0]
    pages = [Page(client, watch)]
    assert "your link" in Page(client, waiting).status
    room, watch, ben = link_two(client, game="race", best_of="3")
    pages.append(Page(client, watch))
    place(client, room, 7)
    client.post(f"{room}/offer", data={"kind": "takeback"})
    pages.append(Page(client, watch))
    ben.post(f"{room}/decline")
    pages.append(Page(client, watch))
    ben.post(f"{room}/resign")
    pages.append(Page(client, watch))
    for page in pages:
        for text in (page.status, page.title, *page.log[1:]):
            assert not YOU.search(text), text
        body = page._find_text(  # noqa: SLF001
            r'<main id="main".*?>(.*)<section class="card story"'
        )
        assert "your" not in body.casefold()


def test_offers_and_resigning_are_told_to_each_reader(client: TestClient) -> None:
    room, watch, ben = link_two(client, game="race")
    place(client, room, 7)
    client.post(f"{room}/offer", data={"kind": "takeback"})
    ben.post(f"{room}/decline")
    declined = [Page(*each).html for each in ((client, room), (ben, room), (client, watch))]
    assert ["<bdi>You</bdi> declined to undo the move." in page for page in declined] == [
        False,
        True,
        False,
    ]
    assert ["<bdi>Ben</bdi> declined to undo the move." in page for page in declined] == [
        True,
        False,
        True,
    ]
    ben.post(f"{room}/resign")
    pages = [Page(*each) for each in ((client, room), (ben, room), (client, watch))]
    assert [page.headline for page in pages] == [
        "You win: Ben resigns.",
        "You resign, so Ann wins.",
        "Ann wins: Ben resigns.",
    ]
    assert "<bdi>Ben</bdi> starts the next game." in pages[0].html
    assert "<bdi>You</bdi> start the next game." in pages[1].html


def test_the_end_of_a_match_is_told_in_status_title_and_log(client: TestClient) -> None:
    room, watch, ben = link_two(client, game="race", best_of="3")
    ben.post(f"{room}/resign")
    assert Page(client, room).log[-1] == "The score after 1 of 3: you 1, Ben 0"
    client.post(f"{room}/rematch")
    ben.post(f"{room}/resign")
    words = (
        "You win the match, 2 to 0!",
        "Ann wins the match, 2 to 0.",
        "Ann wins the match, 2 to 0.",
    )
    for visitor, told in zip(((client, room), (ben, room), (client, watch)), words, strict=True):
        page = Page(*visitor)
        assert page.status.endswith(told)
        assert page.title.startswith(f"{page.headline} {told.removesuffix('.')} · ")
        assert page.log[-1] == told
        assert "starts the next game" not in page.html
    assert "<bdi>Ann</bdi> starts the next match." in Page(ben, room).html


def test_hidden_blocks_are_to_be_remembered_by_a_player(client: TestClient) -> None:
    room, watch, _ = link_two(client, game="summit", hidden="yes")
    told = "Remember which Number Blocks are used: they are not shown."
    assert [told in Page(client, path).html for path in (room, watch)] == [True, False]


def test_changes_that_the_log_leaves_out_are_counted(client: TestClient) -> None:
    table = Table(Game(catalogue.load_named("draft").rules), "draft")
    for _ in range(MAX_LOG_CHANGES // 2):
        table = table.play(9).undo()
    counted = {}
    for block in (9, 8, 1):
        counted[table.version - MAX_LOG_CHANGES] = Page(
            client, f"/g/{open_room(client, NewRoom(table))}"
        ).html
        table = table.play(block)
    assert "earlier change" not in counted[0]
    assert "… 1 earlier change<" in counted[1]
    assert "… 2 earlier changes<" in counted[2]


def test_an_invitation_tells_only_of_the_rules_that_hold(client: TestClient) -> None:
    for wishes, is_told in (({}, True), ({"target": "40"}, False)):
        room = str(
            client.post("/new", data={"game": "draft", "opponent": "link", **wishes}).headers[
                "location"
            ]
        )
        page = TestClient(client.app).get(room).text
        assert "Take the seat" in page
        assert (catalogue.load_named("draft").summary in unescape(page)) is is_told


def test_the_api_tells_each_reader_the_same_as_the_pages(client: TestClient) -> None:
    made = client.post(
        "/api/games", json={"game": "race", "names": ["Ann"], "opponent": "link"}
    ).json()
    client.cookies.clear()
    game = f"/api/games/{made['address']}"
    ben = client.post(f"{game}/join", json={"name": "Ben"}).json()["token"]
    headers = [{"Authorization": f"Bearer {token}"} for token in (made["token"], ben)]
    move = {"do": "move", "block": 7, "version": 0}
    assert (
        client.post(f"{game}/actions", json=move, headers=headers[0]).json()["said"][0]
        == "You place 7."
    )
    refused = client.post(f"{game}/actions", json={**move, "version": 1}, headers=headers[0])
    assert (refused.status_code, refused.json()["state"]["said"][0]) == (409, "You place 7.")
    words = "You place 7.", "Ann places 7.", "Ann places 7."
    for header, told in zip((*headers, {}), words, strict=True):
        event = client.get(f"{game}/events?limit=1", headers=header).text
        states = (
            client.get(game, headers=header).json(),
            json.loads(event.partition("data: ")[2].partition("\n")[0]),
        )
        log = client.get(f"{game}/log?since=1", headers=header).json()["said"]
        assert [each["said"][0] for each in states] == [told] * 2
        assert [each["text"] for each in log if each["moment"] == "placed"] == [told]


def test_the_api_tells_two_at_one_table_the_rulebooks_words(client: TestClient) -> None:
    made = client.post(
        "/api/games", json={"game": "draft", "names": ["Ann", "Ben"], "opponent": "table"}
    ).json()
    client.cookies.clear()
    header = {"Authorization": f"Bearer {made['token']}"}
    game = f"/api/games/{made['address']}"
    client.post(f"{game}/actions", json={"do": "move", "block": 9, "version": 0}, headers=header)
    both, spectator = (client.get(game, headers=each).json()["said"] for each in (header, {}))
    table = Table(Game(catalogue.load_named("draft").rules).play(9), "draft", ("Ann", "Ben"))
    assert both == [message.text.strip("\n") for message in get_voice(table.book).tell(table)]
    assert spectator[0] == "Ann places 9."
