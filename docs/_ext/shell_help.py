"""What a command says with ``--help``, asked while the site is built, so that it is never stale."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class ShellHelp(SphinxDirective):
    """Show the command line that is the content, and what it prints."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Run it."""
        line = " ".join(self.content)
        words = shlex.split(line)
        if words[:1] != ["partita"] or words[-1:] != ["--help"]:
            raise self.error(f"a line `partita ... --help` is wanted; got {line!r}")
        answer = subprocess.run(
            [sys.executable, "-m", "partita", *words[1:]],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COLUMNS": "88", "NO_COLOR": "1"},
        )
        shown = nodes.literal_block(text=f"$ {line}\n{answer.stdout}", language="text")
        return [shown]


def setup(app):
    """Sphinx calls this."""
    app.add_directive("shell-help", ShellHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
