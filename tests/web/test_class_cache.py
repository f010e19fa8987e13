"""The classes in a server's memory: as new as the last change that was heard of, and read once for all who ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from number_tower import catalogue
from number_tower.class_actions import Join, apply_action
from number_tower.classroom import Classroom, ClassSettings
from number_tower.store import classrooms
from number_tower.store.classrooms import StoredClassroom
from number_tower.store.database import Store
from number_tower.web.classes import ClassAccess, Classes
from number_tower.web.live import ClassNotice, Hub
from support.stores import store_in

SETTINGS = ClassSettings((catalogue.choose("draft"),))


class Database:
    """A database that answers queries when it is told to, while other servers change it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.queries = 0
        self.answers = asyncio.Event()

    async def read(self, query: Callable[[Connection], Any]) -> Any:
        self.queries += 1
        with self.store.read() as connection:
            found = query(connection)
        await self.answers.wait()
        return found

    def join(self, known: StoredClassroom, name: str) -> StoredClassroom:
        def change(now: StoredClassroom) -> Classroom:
            return apply_action(now.classroom, "stranger", Join(name), None)  # type: ignore[arg-type]  # not used

        with self.store.write() as connection:
            return classrooms.change_classroom(connection, known.id, change, name).stored


def make_classes(database: Database) -> tuple[Classes, StoredClassroom]:
    with database.store.write() as connection:
        stored, _ = classrooms.insert_classroom(connection, SETTINGS, "teacher")
    access: Any = ClassAccess(database.read, None, None, None, None)  # type: ignore[arg-type]  # only read here
    return Classes(access, Hub()), stored


async def ask_while(
    database: Database, classes: Classes, code: str, many: int, meanwhile: Callable[[], None]
) -> Any:
    asked = [asyncio.create_task(classes.find(code, fresh=False)) for _ in range(many)]
    await asyncio.sleep(0)
    meanwhile()
    database.answers.set()
    return await asyncio.gather(*asked)


def test_all_who_ask_at_once_share_one_query(tmp_path: Any) -> None:
    async def check() -> None:
        database = Database(store_in(tmp_path / "games.db"))
        classes, stored = make_classes(database)
        found = await ask_while(database, classes, stored.code, 200, lambda: None)
        assert {each.version for each in found} == {stored.version}
        assert database.queries == 1
        database.store.close()

    asyncio.run(check())


def test_a_change_that_is_heard_of_while_a_class_is_read_is_not_missed(tmp_path: Any) -> None:
    async def check() -> None:
        database = Database(store_in(tmp_path / "games.db"))
        classes, stored = make_classes(database)

        def join() -> None:
            changed = database.join(stored, "Ann")
            classes.note_change(ClassNotice(stored.id, changed.version))

        found = await ask_while(database, classes, stored.code, 10, join)
        assert [len(each.classroom.pupils) for each in found] == [1] * 10
        assert len((await classes.find(stored.code, fresh=False)).classroom.pupils) == 1
        assert database.queries == 2
        database.store.close()

    asyncio.run(check())
