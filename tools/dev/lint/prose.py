#!/usr/bin/env python3
"""The documentation is in plain English: subject, verb, object. This finds

- sentences whose subject is a clause: they begin with Who, Whoever or What, or go on with one behind a semicolon or
  colon. Name the subject: "a worker that ...", "the rows that ...". Questions are let pass;
- a program as a person: he, his, him. A transaction is "it";
- words of AVOIDED, each with a better one.

Headings, blocks of code and spans in backticks are not looked into; a cell of a table is where it is a sentence.
`prose.py --comments [FILE]` lists the same in the comments of sources, with a count for each folder, and fails on nothing.
"""
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import sources
from sources import Finding

CLAUSE = re.compile(r"^(?:Who|What|Whatever)\b")
CLAUSE_INSIDE = re.compile(r"[;:] (?:and |but |or )?(?:who|what|whatever)\b")
PERSON = re.compile(r"\b(?:[Hh]e|[Hh]is|[Hh]im|[Hh]imself)\b")
AVOIDED = tuple((re.compile(pattern, re.I), better) for pattern, better in (
    (r"\b(?:that|which|what) (?:is|are) none\b", "say what is wrong: malformed, unknown"),
    (r"\blooked at\b", "checked, examined, read"),
    (r"\b(?:end|ends|ended|ending|stop|stops|stopped|close|closes|closed|leave|leaves|left) in order\b", "cleanly"),
    (r"\b(?:go|goes|going|went|gone) along\b", "is sent with"),
    (r"\bwhoever\b", "name the subject"),
))
SPAN = re.compile(r"(`+)(.+?)\1")
# A sentence ends where a capital or a span begins the next, but not behind an abbreviation.
SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!al\.)(?<!§\.)[)*\"]*\s+(?=[*\"(\[`A-Z0-9])")


@dataclass(frozen=True)
class Block:
    """A paragraph, an item of a list or a cell, as one line of text; at[i] is the line of its i-th character."""
    text: str
    at: tuple
    cell: bool = False


def masked(line):
    """The line with spans of code as one word each, and links as their text."""
    line = SPAN.sub(lambda match: "`" + "x" * max(len(match[0]) - 2, 1) + "`", line)
    return re.sub(r"\]\([^)\s]*\)", "]", line)


def join(lines, cell=False):
    text, at = "", []
    for number, line in lines:
        piece = (" " if text else "") + line.strip()
        text += piece
        at += [number] * len(piece)
    return Block(text, tuple(at), cell)


def blocks_of(text):
    """Of a page of Markdown."""
    blocks, lines, in_code, in_comment = [], [], False, False

    def close():
        if lines:
            blocks.append(join(lines))
            lines.clear()

    indented = False  # behind an item of a list, indented lines go on with it
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
            close()
            continue
        if in_code:
            continue
        line = masked(line)
        if not line.strip():
            close()
            continue
        if line.startswith("    ") and not lines and not indented:
            continue
        if line.startswith("#"):
            close()
            indented = False
        elif line.startswith("|"):
            close()
            blocks += [join([(number, cell)], cell=True) for cell in re.split(r"(?<!\\)\|", line) if cell.strip()]
        elif match := re.match(r"\s*(?:[-*]|\d+\.) +", line):
            close()
            lines.append((number, line[match.end():]))
            indented = True
        else:
            indented = indented and line.startswith(" ")
            lines.append((number, line))
    close()
    return blocks


def comments_of(text):
    """Of a source of C++: each run of comment lines, apart where a line is blank or begins an item or a column."""
    blocks, lines = [], []
    for number, line in enumerate(text.splitlines() + [""], 1):
        match = re.match(r"^\s*//+ ?(.*)$", line)
        inner = match[1] if match else ""
        if lines and (not inner.strip() or re.match(r"\s*(?:[-*]|\d+\.) |\s{2,}\S+ {2,}", inner)):
            blocks.append(join(lines))
            lines = []
        if inner.strip():
            lines.append((number, masked(re.sub(r"^\s*(?:[-*]|\d+\.) +", "", inner))))
    return blocks


def sentences(block):
    start = 0
    for match in [*SENTENCE.finditer(block.text), None]:
        end = match.start() if match else len(block.text)
        yield start, block.text[start:end]
        start = match.end() if match else end


def check_block(path, block):
    findings = []

    def found(position, message):
        findings.append(Finding(path, block.at[min(position, len(block.at) - 1)], "prose", message))

    for start, sentence in sentences(block):
        stripped = sentence.lstrip("*_\"([ ")
        if stripped.rstrip("*_\") ").endswith("?"):
            continue
        is_sentence = not block.cell or stripped.rstrip("*_\") ").endswith(".")
        if is_sentence and (match := CLAUSE.match(stripped)):
            found(start, f"a clause is the subject; name it: {stripped[:50]}")
        for match in CLAUSE_INSIDE.finditer(sentence):
            found(start + match.start(), f"a clause is the subject; name it: {sentence[match.start() + 2:][:50]}")
        for match in PERSON.finditer(sentence):
            found(start + match.start(), f"no person: {match[0]}")
        for pattern, better in AVOIDED:
            for match in pattern.finditer(sentence):
                found(start + match.start(), f"{match[0]}: {better}")
    return findings


def check(path, text):
    blocks = comments_of(text) if path.endswith(sources.CPP) else blocks_of(text)
    return [finding for block in blocks for finding in check_block(path, block)]


def list_comments(target):
    findings = [finding for path in sources.files(sources.CPP)
                for finding in check(path, (sources.ROOT / path).read_text(errors="replace"))]
    for folder, number in sorted(Counter(str(Path(finding.path).parent) for finding in findings).items()):
        print(f"{number:5} {folder}")
    print(f"{len(findings):5} in all")
    if target:
        Path(target).write_text("".join(f"{finding}\n" for finding in findings))
    return 0


def main():
    if sys.argv[1:2] == ["--comments"]:
        return list_comments(sys.argv[2] if len(sys.argv) > 2 else None)
    return sources.main("prose", (".md",), check, lambda path: path.endswith(".md"))


if __name__ == "__main__":
    sys.exit(main())
