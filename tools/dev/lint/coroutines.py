#!/usr/bin/env python3
"""The coroutine rules of common/reactor/task.h, as far as text shows them.

A coroutine is a function whose declaration returns Task<...>. Findings: a lambda with captures that is a
coroutine; parameters whose argument can be a temporary that dies at the first suspension (const references,
rvalue references, string_view and span are fine only where the caller awaits at once: those must be marked);
guards that live across a co_await; an awaited call with a braced argument, which g++ 12 miscompiles;
co_await in a conditional expression, and in the condition of a switch.
"""
import re
import sys

import sources
from sources import Finding

LAMBDA = re.compile(r"\[([^\[\]]*)\]\s*(?:<[^>]*>\s*)?(\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*(?:mutable\b|noexcept\b|\s)*(?:->\s*([\w:<>,\s*&]+?))?\s*\{")
GUARD = re.compile(r"\bstd::(?:lock_guard|unique_lock|scoped_lock|shared_lock)\b")
AWAITED_CALL = re.compile(r"\bco_await\s+[\w:.\->]+\s*\(")
BRACED_ARGUMENT = re.compile(r"[(,]\s*(?:[A-Za-z_][\w:]*)?\{")
TERNARY = re.compile(r"\?[^;:?]*\bco_await\b[^;]*:|\?[^;?]*:[^;:?]*\bco_await\b")
SWITCH = re.compile(r"\bswitch\s*\(")
TEMPORARY = re.compile(r"const\s+(?:std::)?(?:string|vector|map|function|optional|Key|Value)\b[^*]*&\s*\w*$", re.S)
TASK_FUNCTION = re.compile(r"\b(?:reactor::)?Task<[^;{}()]*>\s+(?:[\w:~]+::)?(\w+)\s*\(")


def matching(code, position, opening, closing):
    """Position after the bracket that closes the one at `position`."""
    depth = 0
    while position < len(code):
        depth += {opening: 1, closing: -1}.get(code[position], 0)
        position += 1
        if depth == 0:
            return position
    return len(code)


def top_level_pieces(text):
    """The text cut at its commas, those inside of brackets left alone."""
    pieces, depth = [""], 0
    for letter in text:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return pieces


def is_coroutine_body(body):
    """Whether co_await, co_return or co_yield stands in this body and not in a lambda inside of it."""
    stripped = body
    for match in reversed(list(LAMBDA.finditer(body))):
        end = matching(body, match.end() - 1, "{", "}")
        stripped = stripped[:match.end()] + " " * (end - match.end()) + stripped[end:]
    return re.search(r"\bco_(?:await|return|yield)\b", stripped) is not None


def check(path, text):
    code = sources.strip_cpp(text)
    findings = []

    def add(position, message):
        findings.append(Finding(path, sources.line_of(code, position), "coroutine", message))

    for match in LAMBDA.finditer(code):
        end = matching(code, match.end() - 1, "{", "}")
        if match.group(1).strip() and is_coroutine_body(code[match.end():end - 1]):
            add(match.start(), "a lambda with captures is a coroutine: the closure may die before the frame")
    for match in SWITCH.finditer(code):
        end = matching(code, match.end() - 1, "(", ")")
        if "co_await" in code[match.end():end]:
            add(match.start(), "co_await in the condition of a switch: g++ 12 resumes the frame at the wrong place")
    for match in TASK_FUNCTION.finditer(code):
        end = matching(code, match.end() - 1, "(", ")")
        parameters = code[match.end():end - 1]
        parameters = [p.strip() for p in top_level_pieces(parameters)]
        if any(re.search(r"&&\s*\w*$", p) for p in parameters):
            add(match.start(), f"{match.group(1)}: a coroutine takes no rvalue reference")
        if any(TEMPORARY.match(p) for p in parameters):
            add(match.start(), f"{match.group(1)}: a const reference may bind to a temporary that dies at the first suspension")
    for match in GUARD.finditer(code):
        depth, position = 0, match.start()
        while position < len(code) and depth >= 0:
            depth += {"{": 1, "}": -1}.get(code[position], 0)
            position += 1
        if "co_await" in code[match.start():position]:
            add(match.start(), "a lock is held across co_await")
    for match in AWAITED_CALL.finditer(code):
        if not BRACED_ARGUMENT.search(code[match.end() - 1:matching(code, match.end() - 1, "(", ")")]):
            continue
        add(match.start(), "an awaited call with a braced argument: g++ 12 miscompiles it, give it a name")
    for match in TERNARY.finditer(code):
        if "\n\n" not in match.group(0):
            add(match.start(), "co_await in a conditional expression: g++ 12 miscompiles temporaries there")
    return findings


if __name__ == "__main__":
    sys.exit(sources.main("coroutines", sources.CPP, check))
