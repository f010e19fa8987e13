"""Journeys: calls in one folder, to the byte; they are texts in tests/golden/journeys."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import load_journeys, play_journey

JOURNEYS = {
    f"{name}: {title}": journey
    for name, journeys in load_journeys().items()
    for title, journey in journeys.items()
}


@pytest.mark.parametrize("title", JOURNEYS)
def test_journey_goes_as_recorded(title: str, tmp_path: Path) -> None:
    assert play_journey(JOURNEYS[title], tmp_path) == JOURNEYS[title]
