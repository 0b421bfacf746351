"""A time limit that leaves work undone says so, once; one that does not says nothing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import partita as pt
from partita import losses
from partita.cli import main
from partita.errors import PartitaWarning
from partita.search import NMF, Greedy, adapted

LATE = "`time_limit` was too short"


@pytest.fixture(scope="module")
def some():
    """Sixty items of four clusters that overlap."""
    return pt.datasets.simulate_draws(60, 80, n_clusters=4, noise=0.5, rng=3)


def said_by(*args, **kwargs):
    """The estimate, and what was said of a time limit."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        best = pt.estimate(*args, **kwargs)
    return best, [str(one.message) for one in said if LATE in str(one.message)]


def searches():
    """Every search that takes a limit, and ``auto``."""
    found = {name: one for name, one in pt.search.NAMES.items() if hasattr(one, "time_limit")}
    assert {"auto", "greedy", "salso", "nmf-kl", "exact"} <= set(found)
    return sorted(found.items())


@pytest.mark.parametrize(("name", "search"), searches())
def test_every_search_with_a_limit_says_so_once_or_not_at_all(some, name, search):
    if name.startswith("nmf"):
        search = NMF(search.model, ranks=(2, 4), n_init=1)
    if name == "exact":
        pytest.importorskip("highspy")
    best, said = said_by(some, loss="binder", search=adapted(search, time_limit=1e-6), rng=0)
    assert len(said) == 1
    assert best.info["cut_short"]
    best, said = said_by(some, loss="binder", search=adapted(search, time_limit=600.0), rng=0)
    assert not said
    assert "cut_short" not in best.info


def test_a_wanted_number_of_clusters_takes_many_searches_and_one_warning(some):
    search = Greedy(time_limit=1e-6)
    _, said = said_by(some, loss=losses.VI(a=None), search=search, n_clusters=59, rng=0)
    assert len(said) == 1


def test_a_limit_is_that_of_the_whole_call_for_a_wanted_number_of_clusters(some, monkeypatch):
    limits = []

    @dataclass(frozen=True)
    class Slow:
        time_limit: float | None = None

        def candidates(self, evidence, loss, *, rng, n_jobs):
            limits.append(self.time_limit)
            now[0] += 0.4
            yield pt.search.Candidate(np.zeros(60, dtype=np.int64))

    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    how = {"loss": losses.VI(a=None), "search": [Slow(), Slow()], "time_limit": 1.0}
    best, said = said_by(some, **how, n_clusters=20, rng=0)
    assert np.allclose(limits, [1.0, 0.6, 0.2])
    assert len(said) == 1
    assert "find a weight of VI that gives 20 clusters" in said[0]
    assert best.info["cut_short"]
    assert best.search == Slow(1.0)
    limits.clear()
    pt.estimate(some, search=[Slow(), Slow()], time_limit=0.5, rng=0)
    assert limits == [0.5, 0.5]


@pytest.mark.parametrize("loss", [losses.VI(a=None), losses.Binder(a=None), "vi"])
def test_an_estimate_of_a_wanted_number_knows_that_it_was_cut_short(some, loss):
    with pytest.warns(PartitaWarning) as said:
        best = pt.estimate(some, loss=loss, n_clusters=30, time_limit=1e-6, rng=0)
    assert [one.filename for one in said] == [__file__]
    assert LATE in str(said[0].message)
    assert best.info["cut_short"]


def test_an_interrupt_between_weights_does_not_say_that_there_is_none(some):
    class Once:
        n = 0

        def candidates(self, evidence, loss, *, rng, n_jobs):
            self.n += 1
            if self.n > 1:
                raise KeyboardInterrupt
            yield pt.search.Candidate(np.zeros(60, dtype=np.int64))

    with pytest.warns(PartitaWarning, match="interrupted before a weight of VI that gives 20"):
        best = pt.estimate(some, loss=losses.VI(a=None), search=Once(), n_clusters=20, rng=0)
    assert best.info["interrupted"]


def test_starts_that_are_cut_short_are_not_mentioned_apart(some):
    search = Greedy(starts=(Greedy(effort=2), NMF("ls", ranks=(2, 3))), time_limit=1e-6)
    _, said = said_by(some, search=search, rng=0)
    assert len(said) == 1
    assert "all that the search would have tried" in said[0]


def test_several_searches_say_each_their_own(some):
    search = [Greedy(time_limit=1e-6), NMF("ls", ranks=(2,), n_init=1, time_limit=1e-6)]
    best, said = said_by(some, search=search, rng=0)
    assert [" the rank 2; this is what it had come to" in one for one in said] == [False, True]
    assert best.info["cut_short"]


def test_polishing_that_time_is_too_short_for(some, monkeypatch):
    monkeypatch.setattr("partita.search.nmf.Stop.left", lambda _: 1e-9)
    search = NMF("ls", ranks=(4,), n_init=1, polish=True, time_limit=600)
    for name in ("descent", "factorization"):
        monkeypatch.setattr(f"partita.nmf.{name}.is_up", lambda: False)
    _, said = said_by(some, search=search, rng=0)
    assert said == [f"{LATE} for all of the polishing (`polish`). Allow more seconds."]


def test_a_search_of_ones_own_may_say_so_too(some):
    class Mine:
        def candidates(self, evidence, loss, *, rng, n_jobs):
            yield pt.search.Candidate(np.zeros(60, dtype=np.int64))
            return "`time_limit` was too short for mine."

    best, said = said_by(some, search=[Mine(), "draws"], rng=0)
    assert said == ["`time_limit` was too short for mine."]
    assert best.info["cut_short"]


@pytest.mark.filterwarnings("always:`time_limit` was too short")
def test_the_shell_says_so_in_its_words(some, tmp_path, capsys):
    some.save(tmp_path / "draws.npz")
    words = ["estimate", str(tmp_path / "draws.npz"), "--seed", "0", "--format", "json"]
    assert main([*words, "--time-limit", "1e-6"]) == 0
    said = capsys.readouterr()
    assert said.err.count("warning: `time_limit` was too short for all that the search") == 1
    assert '"cut_short": true' in said.out
    assert main([*words, "--time-limit", "600"]) == 0
    said = capsys.readouterr()
    assert not said.err
    assert '"cut_short": false' in said.out
