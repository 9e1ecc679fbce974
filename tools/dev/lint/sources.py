"""Shared by all lints: the files of the tree, C++ text without comments and strings, and the report.

A finding on a line that carries `lint: allow NAME: reason` is let pass; a reason is required.
"""
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CPP = (".h", ".cc", ".inc")
# Names of files by the mark of their comments.
SLASHES = CPP + (".proto",)
HASHES = (".py", ".sh", ".cmake", ".txt", ".toml", ".yaml", "/Dockerfile")


def files(suffixes=None, root=ROOT):
    """Files that git tracks or would track, as paths relative to the root; all files where there is no git."""
    try:
        listing = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], check=True, capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listing = [str(p.relative_to(root)) for p in root.rglob("*")
                   if not {"build", ".git"} & set(p.relative_to(root).parts)]
    return sorted(p for p in listing
                  if p and (root / p).is_file() and (suffixes is None or p.endswith(tuple(suffixes))))


def wanted(arguments, suffixes=None):
    """Those of the files given as arguments that a lint of files with these suffixes reads; without arguments, of the tree."""
    if not arguments:
        return files(suffixes)
    return [path for path in arguments if suffixes is None or path.endswith(tuple(suffixes))]


# A comment, or a literal of a string or a character.
COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'',
    re.S)


def strip_cpp(text):
    """The text with comments and the insides of string literals blanked; lines and columns stay."""

    def blank(match):
        piece = match.group(0)
        body = re.sub(r"[^\n]", " ", piece)
        return body if piece.startswith("/") else piece[0] + body[1:-1] + piece[-1] if len(piece) > 1 else piece

    return COMMENT_OR_LITERAL.sub(blank, text)


def string_literals(text):
    """The string literals of C++ but raw ones, without their quotes, each with its position; adjacent ones as several."""
    return [(match.start() + 1, match[0][1:-1]) for match in COMMENT_OR_LITERAL.finditer(text) if match[0].startswith('"')]


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    lint: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message} [{self.lint}]"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def allowed(text, finding):
    lines = text.splitlines()
    return finding.line <= len(lines) and re.search(
        rf"lint: allow {re.escape(finding.lint)}: \S", lines[finding.line - 1]) is not None


def report(name, findings, checked, warnings=()):
    """Prints all, then a closing line; the exit code of the lint."""
    for warning in warnings:
        print(f"warning: {warning}")
    for finding in findings:
        print(finding)
    print(f"{name}: {checked} files, {len(findings)} findings")
    return 1 if findings else 0


def main(name, suffixes, check):
    """Runs check(path, text) -> findings over the tree's files (or those given as arguments)."""
    paths = wanted(sys.argv[1:], suffixes)
    findings = []
    for path in paths:
        text = (ROOT / path).read_text(errors="replace")
        findings += [f for f in check(path, text) if not allowed(text, f)]
    return report(name, findings, len(paths))
