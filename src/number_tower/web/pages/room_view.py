"""A room as one visitor sees it: its values are taken out, and `web.board` draws them."""

from __future__ import annotations

from number_tower.rooms.presence import RoomPresence, mark_presence
from number_tower.store.rooms import StoredRoom
from number_tower.web.board.view import GameView, RoomFacts
from number_tower.words.voice import Reader


def view_room(
    stored: StoredRoom, held: frozenset[int] = frozenset(), presence: RoomPresence | None = None
) -> GameView:
    """Return a room as a visitor sees it who holds some seats of it or none."""
    room, link = stored.room, stored.class_link
    rights = {
        "move": room.may_move(held),
        "undo": room.may_undo(held),
        "resign": room.may_resign(held),
        "rematch": room.may_rematch(held),
        "offer a rematch": room.may_offer(held, "rematch"),
        "offer a takeback": room.may_offer(held, "takeback"),
        "answer": room.may_answer(held),
        "hint": room.may_hint(held),
        "values": room.may_see_values(held),
        "claim": presence is not None and room.may_claim(held, presence.gone_for),
        "decide": room.holds_all_people(held),
    }
    facts = RoomFacts(
        seats=room.seats,
        path=f"/g/{stored.address}" if held else f"/w/{stored.watch}",
        play=stored.address,
        watch=stored.watch,
        code=stored.code,
        revision=stored.revision,
        number=room.number,
        may=frozenset(right for right, is_given in rights.items() if is_given),
        best_of=room.best_of,
        score=room.score,
        games=len(room.winners) + 1,
        series_over=room.series_over,
        next_starter=room.next_starter,
        offer=room.offer,
        declined=room.declined,
        remark=room.remark,
        hints_allowed=room.hints_allowed,
        hints_taken=room.hints_taken,
        presence=presence and presence.seats,
        presence_mark=mark_presence(room, presence),
        claim_after=room.claim_after,
        # Spectators may not join the class.
        class_path=f"/class/{link.code}" if link and held else "",
        has_next_game=bool(link and room.over and any(link.moved_on[seat] for seat in held)),
        is_paused=room.is_paused,
        ruling=link and link.ruling,
    )
    return GameView(room.table, Reader.of_seats(held), facts)
