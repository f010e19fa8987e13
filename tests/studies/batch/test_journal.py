"""Journals of arenas, evaluations and experiments: resumed to the same bytes, never overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from number_tower.studies.arena import play_games, playout
from number_tower.studies.arena.playout import ArenaJournal
from number_tower.studies.arena.schedule import arrange
from number_tower.studies.batch import BatchError
from number_tower.studies.batch.journal import Journal, JournalDamagedError, JournalNotEmptyError
from number_tower.studies.evaluation import run_tasks
from number_tower.studies.evaluation.run import EvaluationJournal
from number_tower.studies.evaluation.suite import arrange_suite
from number_tower.studies.lab import LabJournal, StudyLimits, make_space, sweep
from support.jobs import AXES, Stub


class Study(NamedTuple):
    """A study of which the entries are saved in a journal."""

    journal: Callable[..., Journal[Any]]
    subject: tuple[Any, ...]
    """What the journal is about."""
    run: Callable[..., Generator[Any]]

    def open(self, path: Path, *, resume: bool = False) -> Journal[Any]:
        return self.journal(path, *self.subject, resume=resume)


def make_arena(**changes: Any) -> Study:
    settings: dict[str, Any] = {
        "games": ["draft", "factor"],
        "players": ["ann", "ben", "quitter"],
        "number": 3,
        "seed": 1,
    }
    contest = arrange(**settings | changes, make=Stub)
    return Study(ArenaJournal, (contest,), partial(play_games, contest, make=Stub))


def make_evaluation(**changes: Any) -> Study:
    settings: dict[str, Any] = {
        "players": ["random", "support.replies:answer_second_time", "support.replies:raise_error"],
        "games": ["factor", "draft"],
        "number": 4,
        "positions": 6,
        "patience": 20.0,
    }
    suite = arrange_suite(**settings | changes)
    return Study(EvaluationJournal, (suite,), partial(run_tasks, suite))


def make_experiment(positions: int = 2_000, **changes: str) -> Study:
    axes = AXES | {"target": "8..9"} | changes
    space, limits = make_space("draft", axes), StudyLimits(positions=positions)
    return Study(LabJournal, (space, limits), partial(sweep, space, limits=limits))


STUDIES = {"arena": make_arena, "evaluation": make_evaluation, "experiment": make_experiment}


@pytest.fixture(scope="module", params=STUDIES)
def study(request: pytest.FixtureRequest) -> Study:
    return STUDIES[request.param]()


def write_journal(study: Study, path: Path, *, jobs: int = 1, resume: bool = False) -> bytes:
    """Run a study, and return the content of its journal."""
    with study.open(path, resume=resume) as log, closing(study.run(log=log, jobs=jobs)) as entries:
        assert len(list(entries)) == log.entry_count
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(study: Study, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_journal(study, tmp_path_factory.mktemp("whole") / "whole.jsonl")


@pytest.fixture
def path(whole: bytes, tmp_path: Path) -> Path:
    """The journal of a finished study."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(whole)
    return path


def find_cuts(content: bytes) -> Iterator[int]:
    yield from (end + 1 for end, byte in enumerate(content) if byte == ord("\n"))
    yield from range(0, len(content), len(content) // 20)


# Experiments on two processes are tested in lab/test_executors.py.
@pytest.mark.parametrize("study", ["arena", "evaluation"], indirect=True)
def test_journal_is_the_same_on_two_processes(study: Study, whole: bytes, tmp_path: Path) -> None:
    assert write_journal(study, tmp_path / "two.jsonl", jobs=2) == whole


def test_journal_cut_off_anywhere_can_be_resumed(study: Study, whole: bytes, path: Path) -> None:
    for length in find_cuts(whole):
        path.write_bytes(whole[:length])
        assert write_journal(study, path, resume=True) == whole, length


def test_journal_that_does_not_exist_is_resumed_from_the_beginning(
    study: Study, whole: bytes, tmp_path: Path
) -> None:
    assert write_journal(study, tmp_path / "new.jsonl", resume=True) == whole


def test_lines_in_another_order_are_sorted_and_the_file_keeps_its_link_and_mode(
    study: Study, whole: bytes, path: Path
) -> None:
    header, *lines = whole.splitlines(keepends=True)
    path.write_bytes(header + b"".join(reversed(lines[3:])))
    path.chmod(0o640)
    (left := path.with_name(f".{path.name}.123.part")).write_bytes(header)  # by a killed process
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    assert write_journal(study, link, resume=True) == whole
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert set(path.parent.iterdir()) <= {path, link, left}


@pytest.mark.parametrize("content", ["dear diary\n", "{}\n", "[]\n"])
def test_other_content_is_never_overwritten(study: Study, path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(JournalNotEmptyError, match="is not empty"):
        study.open(path)
    with pytest.raises(JournalDamagedError, match="is not the file of an"):
        study.open(path, resume=True)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("name", "changes", "problem"),
    [
        ("arena", {"seed": 2}, "seed 1, and not 2"),
        ("arena", {"number": 5}, "number 3, and not 5"),
        ("arena", {"patience": 2.5}, "patience 10.0, and not 2.5"),
        ("arena", {"players": ["ann", "ben"]}, "other players"),
        ("arena", {"games": ["factor", "draft"]}, "other games"),
        ("evaluation", {"seed": 2}, "seed 1, and not 2"),
        ("evaluation", {"number": 6}, "number 4, and not 6"),
        ("evaluation", {"positions": 5}, "positions 6, and not 5"),
        ("evaluation", {"tries": 2}, "tries 3, and not 2"),
        ("evaluation", {"against": "easy"}, "against fair, and not easy"),
        ("evaluation", {"legal": False}, "legal True, and not False"),
        ("evaluation", {"games": ["factor"]}, "other games"),
        ("experiment", {"target": "8..13"}, "other axes"),
        ("experiment", {"positions": 5}, "positions 2000, and not 5"),
    ],
)
def test_journal_with_other_settings_is_not_resumed(
    name: str, changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "journal.jsonl"
    with STUDIES[name]().open(path):
        before = path.read_bytes()
    with pytest.raises(BatchError, match=f"holds another {name}: {problem}"):
        STUDIES[name](**changes).open(path, resume=True)
    assert path.read_bytes() == before


def test_journal_of_a_changed_rule_file_is_not_resumed(tmp_path: Path) -> None:
    rules, path = tmp_path / "mine.toml", tmp_path / "journal.jsonl"
    rules.write_text('[rules]\nblocks = "1-5"\n')
    with make_arena(games=[str(rules)]).open(path):
        rules.write_text('[rules]\nblocks = "1-6"\n')
    with pytest.raises(BatchError, match="holds another arena: other games"):
        make_arena(games=[str(rules)]).open(path, resume=True)


def test_another_version_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_arena().open(path := tmp_path / "journal.jsonl"):
        monkeypatch.setattr(playout, "__version__", "99.0")
    with pytest.raises(BatchError, match=r"version \d+\.\d+\.\d+, and not 99.0"):
        make_arena().open(path, resume=True)


@pytest.mark.parametrize(
    ("study", "before", "after"),
    [
        ("arena", b'"index": 2,', b'"index": 3,'),
        ("arena", b'"index": 2,', b'"index": 200,'),
        ("arena", b'"index": 2,', b'"index": -2,'),
        ("arena", b'"moves": [', b'"moves": {['),
        ("arena", b'{"index"', b'["index"'),
        ("evaluation", b'"index": 5,', b'"index": 7,'),
        ("evaluation", b'"player": "random"', b'"player": "perfect"'),
        ("evaluation", b'"values": {', b'"values": [{'),
        ("evaluation", b'"regret": 1.0', b'"regret": 0.5'),
        ("experiment", b'"blocks": "1-4"', b'"blocks": "1-5"'),
    ],
    indirect=["study"],
)
def test_changed_line_is_refused(study: Study, path: Path, before: bytes, after: bytes) -> None:
    header, *lines = path.read_bytes().splitlines(keepends=True)
    changed = next(number for number, line in enumerate(lines) if before in line)
    lines[changed] = lines[changed].replace(before, after, 1)
    path.write_bytes(header + b"".join(lines))
    problem = rf"journal.jsonl, line {changed + 2}: not a \w+ of this \w+"
    with pytest.raises(JournalDamagedError, match=problem):
        write_journal(study, path, resume=True)


def test_line_that_is_there_twice_is_refused(study: Study, whole: bytes, path: Path) -> None:
    path.write_bytes(whole + whole.splitlines(keepends=True)[5])
    with pytest.raises(JournalDamagedError, match=r"the \w+ with index 4 is there twice"):
        write_journal(study, path, resume=True)


def test_two_studies_do_not_write_to_one_file(study: Study, tmp_path: Path) -> None:
    with (
        study.open(tmp_path / "a.jsonl"),
        pytest.raises(BatchError, match=r"another \w+ is being saved to"),
    ):
        study.open(tmp_path / "a.jsonl", resume=True)


def test_entries_can_be_discarded_but_not_saved_in_a_pipe(study: Study, tmp_path: Path) -> None:
    with study.open(Path(os.devnull)) as log:
        assert list(study.run(log=log, jobs=1))
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none" / "a.jsonl"):
        with pytest.raises(BatchError, match=r"s (can|cannot) be saved to"):
            study.open(path)


def test_full_disk_is_reported(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    with study.open(Path(os.devnull)) as log, open("/dev/full", "wb") as full:
        monkeypatch.setattr(log, "_stream", full)
        with pytest.raises(BatchError, match="cannot be written: No space left on device"):
            list(study.run(log=log, jobs=1))
        with suppress(OSError):
            full.close()
