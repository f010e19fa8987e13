"""How much there is to read, and how much there may be (`make budget`)."""

from __future__ import annotations

from pathlib import Path

import count_lines

FILES = {
    "src/number_tower/a.py": '"""Docs."""\n\n# Why.\nx = 1\ny = [\n    2]\n',
    "src/number_tower/web/static/vendor/big.js": "f()\n" * 10,
    "src/number_tower/web/static/own.css": "/* Why. */\n\np { }\n",
    "tests/test_a.py": "def test_a():\n    pass\n",
    "tools/a.py": "x = 1\n",
    "bench/a.py": "",
}


def test_measures_count_code_without_comments_but_every_byte_for_browsers(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert count_lines.measure(tmp_path) == {
        "product": 4,
        "tests": 2,
        "tools": 1,
        "bench": 0,
        "mean_line_length": 4.25,
        "browser_bytes": 40 + 18,
    }


def test_figure_above_its_budget_or_without_one_is_reported() -> None:
    excess = count_lines.find_excess(
        {"product": 12, "tests": 3, "tools": 1}, {"product": 11, "tests": 3}
    )
    assert [sentence.partition(":")[0] for sentence in excess] == ["product", "tools"]
