"""How much there is to read, and how much there may be (`make budget`)."""

from __future__ import annotations

from pathlib import Path

import count_lines


def project(folder: Path) -> Path:
    """Write a small project: three lines of product, a test, a script, two files for a browser."""
    files = {
        "src/number_tower/a.py": '"""Docs."""\n\n# Why.\nx = 1\ny = [\n    2]\n',
        "src/number_tower/web/static/vendor/big.js": "f()\n" * 10,
        "src/number_tower/web/static/own.css": "/* Why. */\n\np { }\n",
        "tests/test_a.py": "def test_a():\n    pass\n",
        "tools/a.py": "x = 1\n",
        "bench/a.py": "",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_code_counts_and_comments_do_not_but_a_browser_loads_every_byte(tmp_path: Path) -> None:
    assert count_lines.measure(project(tmp_path)) == {
        "product": 4,
        "tests": 2,
        "tools": 1,
        "bench": 0,
        "mean_line_length": 4.25,
        "browser_bytes": 40 + 18,
    }


def test_what_is_above_its_budget_or_has_none_is_named() -> None:
    excess = count_lines.find_excess({"product": 12, "tests": 3}, {"product": 11, "tests": 3})
    assert excess == ["product: 12 is more than its budget of 11."]
    assert count_lines.find_excess({"product": 1}, {}) == [
        "product: 1 is more than its budget of 0."
    ]
