"""The shell as the tests call it."""

from __future__ import annotations

import json
import sys

import pandas as pd
import pytest

from partita.cli import main


class Shell:
    """Runs commands in this process and hears what they say."""

    def __init__(self, capsys):
        self._capsys = capsys
        self.err = ""
        self.is_terminal = False  # what stdout says of itself

    def run(self, *words):
        """The exit code, stdout and stderr."""
        self._capsys.readouterr()
        sys.stdout.isatty = lambda: self.is_terminal
        code = main([str(word) for word in words])
        said = self._capsys.readouterr()
        self.err = said.err
        return code, said.out, said.err

    def __call__(self, *words):
        """What a command prints that must work."""
        code, out, err = self.run(*words)
        assert code == 0, err
        return out

    def json(self, *words):
        """What it prints as JSON."""
        return json.loads(self(*words, "--format", "json"))

    def refused(self, *words):
        """The one line of an error."""
        code, out, err = self.run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith("partita: ")
        return err


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture(scope="session")
def csv(tmp_path_factory, draws):
    """The reference draws as text, items named."""
    path = tmp_path_factory.mktemp("csv") / "draws.csv"
    names = [f"item{i}" for i in range(draws.n_items)]
    pd.DataFrame(draws.labels + 1, columns=names).to_csv(path, index=False)
    return path
