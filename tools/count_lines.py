"""Count the modules and the lines of code of each package, without blank lines, comments and docstrings.

Templates, style sheets and scripts are counted with their package. Usage: python tools/count_lines.py [FOLDER]
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

COMMENTS = re.compile(r"/\*.*?\*/|\{#.*?#\}|<!--.*?-->", re.DOTALL)
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def count_python(text: str) -> int:
    """Count the lines of a module that hold code."""
    found = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            found -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = text.splitlines()
    return sum(bool(lines[number - 1].strip()) for number in found)


def count_other(text: str) -> int:
    """Count the lines of a template, a style sheet or a script that are neither blank nor comments."""
    lines = map(str.strip, COMMENTS.sub("", text).splitlines())
    return sum(bool(line) and not line.startswith("//") for line in lines)


def main() -> None:
    """Print the table."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "src/number_tower")
    modules, lines = Counter[str](), Counter[str]()
    for path in root.rglob("*"):
        first, *rest = path.relative_to(root).parts or (".",)
        package = first if rest else "(modules)"
        if path.suffix == ".py":
            modules[package] += 1
            lines[package] += count_python(path.read_text())
        elif path.suffix in {".html", ".css", ".js"} and "vendor" not in path.parts:
            lines[f"{package}, templates and static"] += count_other(path.read_text())
    for package in sorted(lines):
        print(f"{package:30}{modules[package]:6,}{lines[package]:10,}")
    print(f"{'all':30}{modules.total():6,}{lines.total():10,}")


if __name__ == "__main__":
    main()
