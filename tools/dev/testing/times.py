"""How long steps and test programs took in this tree's last good run: build/test-times.json."""
import json


def _path(root):
    return root / "build" / "test-times.json"


def _read(root):
    try:
        return json.loads(_path(root).read_text())
    except (OSError, ValueError):
        return {}


def remember(root, step, seconds, programs):
    known = _read(root)
    known.setdefault("steps", {})[step] = seconds
    if programs:
        known.setdefault("programs", {}).setdefault(step, {}).update({p.name: p.seconds for p in programs})
    _path(root).write_text(json.dumps(known, indent=1))


def of_steps(root):
    """Seconds by step."""
    return _read(root).get("steps", {})


def of_programs(root, step):
    """Seconds by program."""
    return _read(root).get("programs", {}).get(step, {})
