#!/usr/bin/env python3
"""No file includes another one of a layer above it: the include graph against layers.txt. Only tests, test support (files
in a folder `testing`) and tools include test support.
"""
import re
import sys
from pathlib import Path

import sources
from sources import Finding

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
TESTS = re.compile(r"^common/fabric/conformance/|_test\.cc$|/testing/")
COMPOSITION_ROOTS = re.compile(r"^(memory|compute)/main\.cc$|^compute/worker/worker_thread\.")


def expanded(name, layers):
    """`FOLDER/*`: every layer that is the folder or below it."""
    if not name.endswith("/*"):
        return [name]
    folder = name[:-2]
    return [layer for layer in layers if layer == folder or layer.startswith(folder + "/")]


def read_layers(path):
    layers = {}
    for line in Path(path).read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            folder, _, below = line.partition(":")
            layers[folder.strip()] = below.split()
    for folder, below in layers.items():
        layers[folder] = below = [other for name in below for other in expanded(name, layers)]
        for other in below:
            if other not in layers:
                raise SystemExit(f"layers.txt: {folder} names the unknown folder {other}")
            if folder in layers[other]:
                raise SystemExit(f"layers.txt: {folder} and {other} name each other")
    return layers


def layer_of(path, layers):
    best = None
    for folder in layers:
        if path.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def check(path, text, layers):
    """Tests and composition roots may include everything but what is of tools/, which only tools/ may. Tests of tools/ are
    held to the layers like other files of tools/; but they may include test support.
    """
    is_test = TESTS.search(path) is not None
    is_tool = path.startswith("tools/")
    held_to_layers = not is_test or (is_tool and path.endswith("_test.cc"))
    has_layer = held_to_layers and COMPOSITION_ROOTS.search(path) is None
    own = layer_of(path, layers)
    if has_layer and own is None:
        return [Finding(path, 1, "layering", "the folder is not in tools/dev/lint/layers.txt")]
    findings = []
    for match in INCLUDE.finditer(text):
        included = match.group(1)
        error = None
        if included.startswith("tools/") and not is_tool:
            error = f"only tools/ may include {included}"
        elif "/testing/" in included and not is_tool and not is_test:
            error = f"only tests and tools/ may include {included}"
        elif has_layer and "/" not in included:
            error = f'"{included}": write the path from the root'
        elif is_test and "/testing/" in included:
            continue
        elif has_layer and (layer := layer_of(included, layers)) not in (None, own, *layers[own]):
            error = f"{own} may not include {included} ({layer} is not below it)"
        if error is not None:
            findings.append(Finding(path, sources.line_of(text, match.start(1)), "layering", error))
    return findings


if __name__ == "__main__":
    LAYERS = read_layers(Path(__file__).with_name("layers.txt"))
    sys.exit(sources.main("layering", sources.CPP, lambda path, text: check(path, text, LAYERS)))
