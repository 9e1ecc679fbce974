#!/usr/bin/env python3
"""No file declares or befriends a class of a layer above it that it may not include: such a declaration is an arrow up that
no include shows. The definition's file says of which layer a class is. Tests and composition roots may declare all.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import layering
import sources
from sources import Finding

PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)
KINDS = r"class|struct|union|enum(?:\s+(?:class|struct))?"
# The beginning, the end or the declaration of a scope. A class's head may have attributes and bases. A template's parameter
# has neither an end nor a body behind its name, so it is not found.
PIECE = re.compile(
    r"\b(?:inline\s+)?namespace\b\s*(?P<namespace>[\w:]*)\s*\{"
    rf"|(?P<friend>\bfriend\s+)?\b(?:{KINDS})\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*(?P<name>[A-Za-z_][\w:]*)"
    r"\s*(?:\bfinal\b\s*)?(?::(?!:)[^;{}]*)?(?P<end>[{;])"
    r"|[{}]")


@dataclass(frozen=True)
class Declaration:
    scope: tuple  # names of the namespaces and classes around it
    name: str  # as it is written
    line: int
    defines: bool
    befriends: bool

    def full_names(self):
        """The classes that the name may stand for, the nearest first. Only a friend's or a qualified name may be a farther one."""
        names = ["::".join((*self.scope[:depth], self.name)) for depth in range(len(self.scope), -1, -1)]
        return names if self.befriends or "::" in self.name else names[:1]


def declarations(text):
    """The classes that the text declares, befriends or defines; none that have no name outside of their file or function."""
    code = PREPROCESSOR.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), sources.strip_cpp(text))
    found, scopes = [], []  # of a scope: the names it adds; None: it has no name
    for piece in PIECE.finditer(code):
        if piece[0] == "}":
            if scopes:
                scopes.pop()
        elif piece[0] == "{":
            scopes.append(None)
        elif piece["namespace"] is not None:
            scopes.append(tuple(piece["namespace"].split("::")) if piece["namespace"] else None)
        else:
            if None not in scopes:
                scope = tuple(name for names in scopes for name in names)
                line = sources.line_of(code, piece.start("name"))
                found.append(Declaration(scope, piece["name"], line, piece["end"] == "{", piece["friend"] is not None))
            if piece["end"] == "{":
                scopes.append(tuple(piece["name"].split("::")))
    return found


def check(texts, layers):
    """Of {path: text} of the whole tree."""
    declared = {path: declarations(text) for path, text in texts.items()}
    defined = {}  # full name: files
    for path, all_of_file in declared.items():
        for one in all_of_file:
            if one.defines and not layering.TESTS.search(path):
                defined.setdefault("::".join((*one.scope, one.name)), set()).add(path)
    findings = []
    for path, all_of_file in declared.items():
        if layering.TESTS.search(path) or layering.COMPOSITION_ROOTS.search(path):
            continue
        own = layering.layer_of(path, layers)
        for one in all_of_file:
            files = next((defined[name] for name in one.full_names() if name in defined), ())
            if one.defines or own is None or not files:
                continue
            above = {layering.layer_of(file, layers) for file in files}
            if not above & {None, own, *layers[own]}:
                findings.append(Finding(path, one.line, "declarations", f"{own} may not know {one.name} of {min(files)} "
                                                                        f"({min(above)} is not below it)"))
    return findings


def main():
    texts = {path: (sources.ROOT / path).read_text(errors="replace") for path in sources.files(sources.CPP)}
    layers = layering.read_layers(Path(__file__).with_name("layers.txt"))
    findings = [found for found in check(texts, layers) if not sources.allowed(texts[found.path], found)]
    return sources.report("declarations", findings, len(texts))


if __name__ == "__main__":
    sys.exit(main())
