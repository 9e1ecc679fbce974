#!/usr/bin/env python3
"""Documentation and comments are in plain English: subject, verb, object. This finds

- sentences whose subject is a clause: they begin with `Who`, `Whoever` or `What`, or go on with one behind a semicolon, a
  colon, a conjunction such as `since`, or a comma if a second verb follows. Name the subject: "a worker that ...", "the
  rows that ...". Questions are let pass;
- a program as a person: `he`, `his`, `him`. A transaction is "it";
- words of AVOIDED, each with a better one.

In pages of Markdown it reads all but headings, blocks of code and spans in backticks; a cell of a table is read if it is a
sentence. In sources it reads comments, docstrings of Python and names of test cases; in all string literals of C++ it looks
for the words of AVOIDED alone, since a fragment may begin with `What`.
"""
import io
import re
import sys
import tokenize
from dataclasses import dataclass

import sources
from sources import Finding

CLAUSE = re.compile(r"^(?:Who|What|Whatever)\b")
CLAUSE_INSIDE = re.compile(r"[;:] (?:and |but |or )?(?:who|what|whatever)\b")
# A clause behind such a conjunction can only be a subject.
CLAUSE_BEHIND = re.compile(
    r"\b(?:since|because|although|though|unless|if|when|while|where|so|that) (?:who|what|whatever)\b", re.I)
# Here it is one only if a verb of the sentence's own follows it; otherwise it is an item of a list.
CLAUSE_OR_LIST = re.compile(r"(?:, (?:what|whatever)|\b(?:and|but|or|yet|then|now|until) (?:who|what|whatever))\b", re.I)
CLAUSE_END = re.compile(r"[,;:.()]|\b(?:and|but|or|that|which|who|what|if|as|than|when|where|while|until|since|for)\b")
VERB = re.compile(
    r"\b(?:(?:is|are|was|were|has|have|had|will|would|may|might|must|can|cannot|could|does|do|did|need not)"
    r"(?: not| never| only)?(?: to)?(?: be| been| have| do)*(?: \w+(?:ed|en))?|(?:"
    r"stays|goes|comes|gets|takes|waits|sees|meets|means|makes|keeps|costs|follows|begins|remains|leads|stands|lies|belongs"
    r"|wins|loses|lacks|leaves|holds|dies|needs|wants|fails|falls|depends|arrives|happens|\w\w+ed)(?: to be \w+(?:ed|en))?)\b")
PERSON = re.compile(r"\b(?:[Hh]e|[Hh]is|[Hh]im|[Hh]imself)\b")
AVOIDED = tuple((re.compile(pattern, re.I), better) for pattern, better in (
    (r"(?<!\bthere )\b(?:is|are) none\b(?! of\b)", "say what is wrong: malformed, unknown"),
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
    blocks, lines, in_code = [], [], False

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


def comments_of(text, mark):
    """Each run of lines with nothing but a comment, apart where a line is blank or begins an item or a column; and the
    comments behind code."""
    blocks, lines = [], []
    whole, behind = re.compile(rf"^\s*{mark}+(?!!) ?(.*)$"), re.compile(rf"^.*\S\s+{mark}\s(.*)$")
    for number, line in enumerate(text.splitlines() + [""], 1):
        match = whole.match(line)
        inner = match[1] if match else ""
        if lines and (not inner.strip() or re.match(r"\s*(?:[-*]|\d+\.) |\s{2,}\S+ {2,}", inner)):
            blocks.append(join(lines))
            lines = []
        if inner.strip():
            lines.append((number, masked(re.sub(r"^\s*(?:[-*]|\d+\.) +", "", inner))))
        elif not match and (match := behind.match(line)):
            blocks.append(join([(number, masked(match[1]))]))
    return blocks


def only_comments(text):
    """Python with its code as x, and its comments."""
    lines = text.splitlines()
    kept = [""] * len(lines)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            kept[row - 1] = re.sub(r"\S", "x", lines[row - 1][:column]) + token.string
    return "\n".join(kept)


def docstrings_of(text):
    """Of Python: paragraphs and items, each on its own."""
    blocks = []
    for match in re.finditer(r'^ *"""(.*?)"""', text, re.M | re.S):
        inside = blocks_of(re.sub(r"(?m)^ +", "", match[1]))
        before = text.count("\n", 0, match.start(1))
        blocks += [Block(block.text, tuple(before + number for number in block.at)) for block in inside]
    return blocks


def all_blocks(path, text):
    """The prose of a file; empty for unknown kinds of files."""
    if path.endswith(".md"):
        return blocks_of(text)
    if path.endswith(sources.SLASHES):
        return comments_of(text, "//")
    if not path.endswith((*sources.HASHES, ".sqltest", ".spec")) and not text.startswith("#!"):
        return []
    is_python = path.endswith(".py") or "python" in text.split("\n", 1)[0]
    if is_python:
        return comments_of(only_comments(text), "#") + docstrings_of(text)
    return comments_of(text, "#")


def sentences(block):
    start = 0
    for match in [*SENTENCE.finditer(block.text), None]:
        end = match.start() if match else len(block.text)
        yield start, block.text[start:end]
        start = match.end() if match else end


def clauses_inside(sentence):
    """Where clauses that are subjects begin inside a sentence."""
    matches = [*CLAUSE_INSIDE.finditer(sentence), *CLAUSE_BEHIND.finditer(sentence)]
    for match in CLAUSE_OR_LIST.finditer(sentence):
        if len(VERB.findall(CLAUSE_END.split(sentence[match.end():], 1)[0])) > 1:
            matches.append(match)
    return sorted({match.start() for match in matches})


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
        for position in clauses_inside(sentence):
            found(start + position, f"a clause is the subject; name it: {sentence[position:].lstrip(';:, ')[:50]}")
        for match in PERSON.finditer(sentence):
            found(start + match.start(), f"no person: {match[0]}")
        for pattern, better in AVOIDED:
            for match in pattern.finditer(sentence):
                found(start + match.start(), f"{match[0]}: {better}")
    return findings


def check_literals(path, text):
    """Of C++: names of test cases are sentences, and other strings avoid AVOIDED."""
    findings = []
    for position, literal in sources.string_literals(text):
        line = sources.line_of(text, position)
        if re.search(r"\bTEST_CASE\(\s*\"$", text[max(position - 120, 0):position]):
            findings += check_block(path, join([(line, literal)]))
            continue
        findings += [Finding(path, line, "prose", f"{match[0]}: {better}")
                     for pattern, better in AVOIDED for match in pattern.finditer(literal)]
    return findings


def check(path, text):
    findings = [finding for block in all_blocks(path, text) for finding in check_block(path, block)]
    return findings + check_literals(path, text) if path.endswith(sources.CPP) else findings


if __name__ == "__main__":
    sys.exit(sources.main("prose", None, check))
