"""Count what there is to read: lines of code without blank lines, comments and docstrings.

Counted are Python, templates, style sheets and scripts, but for vendored ones; of these a browser's
bytes are counted all the same. `--budget` compares the whole project with tools/budget.toml, and
fails if anything is above it.

Usage: python tools/count_lines.py [FOLDER | --budget]
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).parent.parent
PRODUCT = ROOT / "src" / "number_tower"
BUDGET = ROOT / "tools" / "budget.toml"
COMMENTS = re.compile(r"/\*.*?\*/|\{#.*?#\}|<!--.*?-->", re.DOTALL)
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE,
    tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
ADVICE = (
    "Remove something, or raise the number in tools/budget.toml and give the reason in the commit."
)


def find_python_code(text: str) -> list[str]:
    """Return the lines of a module that hold code."""
    numbers = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            numbers.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            numbers -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = text.split("\n")
    return [line for number in sorted(numbers) if (line := lines[number - 1].strip())]


def find_other_code(text: str) -> list[str]:
    """Return the lines of a template, style sheet or script that are neither blank nor comments."""
    lines = map(str.strip, COMMENTS.sub("", text).splitlines())
    return [line for line in lines if line and not line.startswith("//")]


def find_code(folder: Path) -> dict[Path, list[str]]:
    """Return the lines of code of each file below a folder."""
    code = dict[Path, list[str]]()
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".py":
            code[path] = find_python_code(path.read_text(encoding="utf-8"))
        elif path.suffix in {".html", ".css", ".js", ".svg"} and "vendor" not in path.parts:
            code[path] = find_other_code(path.read_text(encoding="utf-8"))
    return code


def measure(root: Path = ROOT) -> dict[str, float]:
    """Measure a project: one figure for each line of the budget."""
    product = find_code(root / "src" / "number_tower")
    figures: dict[str, float] = {"product": sum(map(len, product.values()))}
    for name in ("tests", "tools", "bench"):
        figures[name] = sum(map(len, find_code(root / name).values()))
    lengths = [len(line) for lines in product.values() for line in lines]
    figures["mean_line_length"] = round(fmean(lengths), 2)
    figures["browser_bytes"] = sum(
        path.stat().st_size for path in (root / "src").rglob("*") if path.suffix in {".js", ".css"}
    )
    return figures


def find_excess(figures: dict[str, float], budget: dict[str, float]) -> list[str]:
    """Return a sentence for each figure that is above its budget, or has none."""
    return [
        f"{name}: {figure:,} is more than its budget of {budget.get(name, 0):,}."
        for name, figure in figures.items()
        if figure > budget.get(name, 0)
    ]


def check_budget() -> int:
    """Print each figure beside its budget; return 1 if one is above it."""
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    figures = measure()
    for name, figure in figures.items():
        print(f"{name:20}{figure:10,} of {budget.get(name, 0):10,}")
    excess = find_excess(figures, budget)
    if excess:
        print(*excess, ADVICE, sep="\n", file=sys.stderr)
    return bool(excess)


def print_table(root: Path) -> None:
    """Print modules and lines of each package in a folder."""
    modules, lines = Counter[str](), Counter[str]()
    for path, code in find_code(root).items():
        first, *rest = path.relative_to(root).parts
        package = first if rest else "(modules)"
        if path.suffix == ".py":
            modules[package] += 1
            lines[package] += len(code)
        else:
            lines[f"{package}, templates and static"] += len(code)
    for package in sorted(lines):
        print(f"{package:30}{modules[package]:6,}{lines[package]:10,}")
    print(f"{'all':30}{modules.total():6,}{lines.total():10,}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--budget"]:
        sys.exit(check_budget())
    print_table(Path(sys.argv[1]) if len(sys.argv) > 1 else PRODUCT)
