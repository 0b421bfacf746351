"""The file: template, style, data and scripts put together under a policy that lets none out."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from partita.reporting._wording import reworded

_AS_GIVEN = ("reproduce", "command", "parameters")  # in whatever words
_LIBRARY = "plotly-cartesian.min.js"  # CONTRIBUTING.md says how to renew it
_SCRIPTS = ("data.js", "theme.js", "charts.js", "matrix.js", "table.js", "sure.js", "main.js")


def page(
    *, title: str, content: Mapping[str, Any], parts: Mapping[str, str], wording: str = "posterior"
) -> str:
    """Return the whole page; ``parts`` are HTML already, ``title`` and ``content`` are not."""
    library = _static(_LIBRARY)
    own = reworded("\n".join(map(_static, _SCRIPTS)), wording)
    script = "(function () {\n'use strict';\n" + own + "\n})();\n"
    parts = {k: v if k in _AS_GIVEN else reworded(v, wording) for k, v in parts.items()}
    places = {
        **parts,
        "title": escape(title),
        "policy": _policy(library, script),
        "style": _static("report.css"),
        "data": as_json(content),
        "library": library,
        "script": script,
    }
    pieces = reworded(_static("page.html"), wording).split("{{")
    out = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split("}}", 1)
        out += [places[name], rest]
    # Half a surrogate pair, as a file name may hold, has no place in UTF-8.
    return "".join(out).encode("utf-8", "backslashreplace").decode("utf-8")


def as_json(content: Any) -> str:
    r"""Return JSON that is safe inside a script element, whatever is in it.

    A number that is not finite becomes null, which figures leave out.

    Examples
    --------
    >>> as_json({"name": "</script><script>alert(1)//"})
    '{"name":"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)//"}'
    """
    text = json.dumps(_finite(content), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _policy(*scripts: str) -> str:
    """Only these scripts may run, and nothing may be loaded or sent anywhere."""
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(h).decode()}'" for h in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _static(name: str) -> str:
    return files("partita.reporting").joinpath("static", name).read_text(encoding="utf-8")
