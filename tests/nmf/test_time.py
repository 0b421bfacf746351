"""A time limit keeps the ranks that are done, on every path, and changes nothing of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import partita as pt
from partita import evidence as evidence_module
from partita import parallel
from partita.cli import main
from partita.draws import _blocks
from partita.search import NMF


@pytest.fixture(scope="module")
def some():
    """Ninety items in five clusters."""
    return pt.datasets.simulate_draws(90, 40, n_clusters=5, noise=0.2, rng=1)


@pytest.fixture
def up_after(monkeypatch):
    """A time limit is so many looks at the clock, not seconds."""

    class Looked(parallel.Stop):
        looks = 0

        def is_late(self):
            self.looks += 1
            return self.deadline < np.inf and self.looks > self.most

    def change(most):
        monkeypatch.setattr(Looked, "most", most, raising=False)
        monkeypatch.setattr("partita.search.nmf.Stop", Looked)

    return change


def places(some, where, monkeypatch):
    """The same draws as a matrix, on a device, or gone over in blocks."""
    if where in ("matrix", "device"):
        return some
    monkeypatch.setattr(_blocks, "_LARGE", 0)
    monkeypatch.setattr(evidence_module, "LARGE", 50)
    if where == "dask":
        da = pytest.importorskip("dask.array")
        return pt.Draws(da.from_array(np.asarray(some.labels), chunks=(-1, 30)))
    return some


PATHS = [
    ("matrix", "kl", {}), ("matrix", "offset", {}), ("matrix", "kl", {"solver": "mu"}),
    ("device", "ls", {"device": "torch:cpu"}),
    ("device", "kl", {"device": "torch:cpu", "solver": "mu"}),
    ("blocks", "ls", {}), ("blocks", "symmetric", {}), ("blocks", "kl", {}), ("dask", "ls", {}),
]  # fmt: skip


@pytest.mark.parametrize(("where", "model", "how"), PATHS)
def test_the_ranks_that_were_done_are_as_ever(some, up_after, monkeypatch, where, model, how):
    if where == "device":
        pytest.importorskip("torch")
    monkeypatch.setattr("partita.nmf.updates.MAX_ITERATIONS", 20)
    draws = places(some, where, monkeypatch)
    search = NMF(model, ranks=(2, 3, 5), n_init=2, **how)
    whole = pt.estimate(draws, search=search, rng=0, n_jobs=1)
    limited = pt.search.adapted(search, time_limit=60.0)
    assert len(whole.path) == 3
    seen = set()
    for looks in (0, 6**5) if where == "device" else (0, 1, 6, 36, 216, 6**5):
        up_after(looks)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            best = pt.estimate(draws, search=limited, rng=0, n_jobs=1)
        found = {step.rank: step for step in best.path}
        seen.add((len(found), bool(best.info.get("cut_short"))))
        assert best.expected_loss == pytest.approx(pt.expected_loss(best.labels, draws), rel=1e-9)
        assert len(said) == bool(best.info.get("cut_short"))
        text = "".join(str(one.message) for one in said)
        if "had come to" in text:
            assert "too short for the ranks 2, 3, 5; this is what they had come to" in text
            continue
        for step in whole.path:
            if step.rank in found:
                assert found[step.rank].objective == step.objective
                np.testing.assert_array_equal(found[step.rank].labels, step.labels)
        left = [step.rank for step in whole.path if step.rank not in found]
        noun = "rank" if len(left) == 1 else "ranks"
        wanted = f"too short for the {noun} {', '.join(map(str, left))}; the others are"
        assert (wanted in text) if left else not text
    assert (3, False) in seen
    assert any(cut for _, cut in seen)


def test_a_time_limit_leaves_some_ranks_out_for_threads_too(some, up_after):
    up_after(40)
    with pytest.warns(pt.errors.PartitaWarning, match="`time_limit` was too short for the ranks"):
        best = pt.estimate(some, search=NMF("kl", time_limit=60), rng=0, n_jobs=2)
    assert best.n_clusters >= 1


def test_what_is_polished_is_polished_in_the_time_that_is_left(some, monkeypatch):
    limits = []

    def polished(labels, *_, time_limit, **__):
        limits.append(time_limit)
        return labels

    monkeypatch.setattr("partita.search.nmf.polish", polished)
    for limit in (None, 60):
        search = NMF("ls", ranks=(5,), n_init=1, polish=True, time_limit=limit)
        pt.estimate(some, search=search, rng=0)
    assert limits[0] is None
    assert 0 < limits[1] < 60


@pytest.mark.filterwarnings("always:`time_limit` was too short")
def test_the_shell_has_it(some, tmp_path, capsys):
    some.save(tmp_path / "draws.npz")
    words = ["estimate", str(tmp_path / "draws.npz"), "--search", "nmf-kl", "--seed", "0"]
    assert main([*words, "--time-limit", "1e-9"]) == 0
    said = capsys.readouterr()
    assert "found by nmf-kl" in said.out
    assert "warning: `time_limit` was too short for the ranks 2, 3," in said.err
    assert "fewer `ranks` or restarts (`n_init`)" in said.err
    assert main([*words, "--time-limit", "0"]) == 2
    assert "`time_limit` must lie in (0, inf)" in capsys.readouterr().err
