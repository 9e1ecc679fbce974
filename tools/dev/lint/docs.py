#!/usr/bin/env python3
"""Everything that the documentation names is there: of every span in backticks in docs/, README.md and CONTRIBUTING.md

- a path or file is one of the tree, whole or as the end of one; a path with a wildcard is at least one;
- a flag is declared by a program or script of the tree;
- anything else of one word (an identifier, a test, a metric) is a word of the tree's sources, protocols, tests or
  scripts, comments left out; of `A::b` and `A.b` both, and where A is a protobuf message b is a field of it; of a
  call with arguments, `b(c, d)`, the name is;
- and a link leads to a file of the tree, and with # to one of its headings.

Of another span of several words (a command, a statement) only the flags and paths are checked. A span may go on in the
next line of its paragraph. Words that are not ours are in docs_words.txt.
"""
import fnmatch
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import sources
from sources import Finding

SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
WORD = re.compile(r"[A-Za-z_]\w*")
# A name with the arguments of its call, which may be several words.
CALL = re.compile(r"([A-Za-z_]\w*(?:(?:::|\.)\w+)*)\([^()]+\)")
FILE = re.compile(r"\.(?:h|cc|inc|proto|py|sh|md|toml|json|yaml|txt|cmake|service|conf|sqltest|spec|sql|so)$")
# Paths of the machine that runs it, of a build, and of placeholders: DIR/log, DATA/config.toml.
ELSEWHERE = re.compile(r"^(?:/|~|\$|build/|unix:|[A-Z]+/)")
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
PROSE = (".md",)
# They hold names that are not there, as examples.
SKIPPED = ("tools/dev/lint/docs.py", "tools/dev/lint/docs_words.txt", "tools/dev/lint/lint_test.py")


def without_comments(path, text):
    if path.endswith(sources.SLASHES):
        return COMMENT.sub(lambda match: match[0] if match[0].startswith('"') else " ", text)
    if path.endswith(sources.HASHES):
        return re.sub(r"(?m)(?:^|(?<=\s))#.*$", "", text)
    return text


@dataclass
class Tree:
    """All that can be named: built once, of path -> text."""
    paths: frozenset  # files and folders
    words: frozenset
    flags: frozenset
    text: str         # of all files, for what is no word
    messages: dict    # protobuf message -> its fields
    foreign: frozenset

    @staticmethod
    def of(texts, foreign=()):
        paths, words, flags, messages = set(), set(), set(), {}
        parts = []
        for path, text in texts.items():
            paths.add(path)
            paths.update(str(parent) for parent in Path(path).parents if str(parent) != ".")
            if path.endswith(PROSE) or path in SKIPPED:
                continue
            text = without_comments(path, text)
            parts.append(text)
            words.update(WORD.findall(text))
            flags.update(FLAG.findall(text))
            if path.endswith(".proto"):
                for name, body in re.findall(r"\bmessage (\w+) \{(.*?)\}", text, re.S):
                    messages[name] = set(re.findall(r"(\w+) = \d+", body))
            # A test is named by its file, a library by its target.
            words.add(Path(path).stem)
        return Tree(frozenset(paths), frozenset(words), frozenset(flags), "\n".join(parts), messages, frozenset(foreign))

    def has_path(self, name):
        name = name.rstrip("/")
        if any(mark in name for mark in "*?"):
            return any(fnmatch.fnmatch(path, name) or fnmatch.fnmatch(path, "*/" + name) for path in self.paths)
        # A path from the root is meant where it begins with one of the root's folders.
        from_root = "/" in name and name.partition("/")[0] in self.paths
        return name in self.paths or not from_root and any(path.endswith("/" + name) for path in self.paths)

    def has_flag(self, flag):
        return flag in self.flags or flag in self.foreign

    def has_word(self, word):
        return word in self.words or word in self.foreign

    def has_literally(self, text):
        at = self.text.find(text)
        while at >= 0:
            around = self.text[max(at - 1, 0):at] + self.text[at + len(text):at + len(text) + 1]
            if not re.search(r"[\w-]", around):
                return True
            at = self.text.find(text, at + 1)
        return False


def is_path(token):
    if "/" not in token:
        return FILE.search(token) is not None
    # Not 0/1, a regular expression, or a fraction of two words.
    return re.fullmatch(r"[\w.*-]+(?:/[\w.*-]+)*/?", token) is not None


def check_word(token, tree):
    """The mistake in a span of one word; None: none."""
    if token in tree.foreign:
        return None
    if is_path(token):
        return None if tree.has_path(token) or tree.has_literally(token) else f"no such path in the tree: {token}"
    name = token.removesuffix("()")
    owner, mark, member = (name.rpartition("::") if "::" in name else name.rpartition("."))
    if mark and WORD.fullmatch(member) and re.fullmatch(r"\w+(?:::\w+)*", owner):
        message = owner.rpartition("::")[2]
        if message in tree.messages and member not in tree.messages[message]:
            return f"the message {message} has no field {member}"
        names = [*owner.split("::"), member]
    elif WORD.fullmatch(name):
        names = [name]
    else:
        # Or a key of a configuration file, which is a flag's name.
        return None if "--" + name in tree.flags or tree.has_literally(name) else not_a_name(token)
    lost = [part for part in names if not tree.has_word(part)]
    return f"nothing in the tree is called {lost[0]}" if lost else None


def not_a_name(token):
    """Patterns and numbers name nothing; a token of letters, digits and hyphens is a name."""
    return f"nothing in the tree is called {token}" if re.fullmatch(r"[A-Za-z][\w-]*", token) else None


def check_span(span, tree):
    problems = [f"no program has the flag {flag}" for flag in FLAG.findall(span) if not tree.has_flag(flag)]
    call = CALL.fullmatch(span)
    if call:
        problem = check_word(call[1], tree)
        return problems + ([problem] if problem else [])
    tokens = span.split()
    if len(tokens) == 1 and not span.startswith("-"):
        if not ELSEWHERE.match(span):
            problem = check_word(span, tree)
            problems += [problem] if problem else []
    else:
        for token in tokens:
            token = token.strip("()[],;\"'")
            if ("/" in token and is_path(token) and not ELSEWHERE.match(token) and FILE.search(token)
                    and token not in tree.foreign and not tree.has_path(token)):
                problems.append(f"no such path in the tree: {token}")
    return problems


def anchor_of(heading):
    """As renderers of Markdown make it."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def check_link(path, target, tree, headings):
    if re.match(r"[a-z]+:", target):
        return None
    file, _, anchor = target.partition("#")
    resolved = path
    if file:
        parts = []
        for part in [*Path(path).parent.parts, *Path(file).parts]:
            if part == "..":
                if not parts:
                    return f"the link {target} leads out of the tree"
                parts.pop()
            else:
                parts.append(part)
        resolved = "/".join(parts)
    if resolved not in tree.paths:
        return f"the link {target} leads nowhere"
    if anchor and resolved in headings and anchor not in headings[resolved]:
        return f"{resolved} has no heading for #{anchor}"
    return None


def headings_of(text):
    return ({anchor_of(match[1]) for match in re.finditer(r"(?m)^#+ (.*)$", text)}
            | set(re.findall(r'<a id="([^"]+)">', text)))


def lines_with_whole_spans(text):
    """(number, line) of each line of prose, with those after it that its last span goes on in."""
    in_block = False
    number, parts = 0, []
    for here, line in enumerate(text.splitlines(), 1):
        fence = line.startswith("```")
        outside = fence or in_block or not line.strip() or (line.startswith("    ") and not parts)
        in_block ^= fence
        if parts and outside:
            yield number, " ".join(parts)
            parts = []
        if outside:
            continue
        number = number if parts else here
        parts.append(line.strip() if parts else line)
        if " ".join(parts).count("`") % 2 == 0:
            yield number, " ".join(parts)
            parts = []
    if parts:
        yield number, " ".join(parts)


def check(path, text, tree, headings):
    findings = []
    for number, line in lines_with_whole_spans(text):
        # In tables a bar inside a span is written \|.
        problems = [problem for match in SPAN.finditer(line)
                    for problem in check_span(match[2].strip().replace("\\|", "|"), tree)]
        problems += [problem for match in LINK.finditer(SPAN.sub("", line))
                     if (problem := check_link(path, match[1], tree, headings))]
        findings += [Finding(path, number, "docs", problem) for problem in problems]
    return findings


def read_words(path):
    return [line.split("#")[0].strip() for line in path.read_text().splitlines() if line.split("#")[0].strip()]


def main():
    texts = {path: (sources.ROOT / path).read_text(errors="replace") for path in sources.files()}
    tree = Tree.of(texts, read_words(Path(__file__).with_name("docs_words.txt")))
    documents = [path for path in texts
                 if path in ("README.md", "CONTRIBUTING.md") or path.startswith("docs/") and path.endswith(".md")]
    headings = {path: headings_of(texts[path]) for path in documents}
    findings = []
    for path in sys.argv[1:] or documents:
        findings += [found for found in check(path, texts[path], tree, headings)
                     if not sources.allowed(texts[path], found)]
    return sources.report("docs", findings, len(documents))


if __name__ == "__main__":
    sys.exit(main())
