"""What a caller of ``sample_mixture`` may rely on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

import partita as pt
from partita import _core
from partita.errors import FileError, InvalidTypeError, InvalidValueError, PartitaWarning
from partita.mixture import Conjugate, Independent, Paper, priors, starts


def two_groups(n=40, p=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + 8.0 * (np.arange(n) >= n // 2)[:, None]


X = two_groups()
SHORT = {"n_draws": 200, "n_burn": 100, "rng": 3}


def test_shape_traces_chains_and_names():
    frame = pd.DataFrame(X, index=[f"i{i}" for i in range(40)])
    draws = pt.sample_mixture(frame, n_chains=3, thin=2, **SHORT)
    assert draws.labels.shape == (600, 40)
    assert draws.n_chains == 3
    assert draws.item_names[:2] == ("i0", "i1")
    assert set(draws.traces) == {"n_clusters", "concentration", "log_joint"}
    assert np.array_equal(draws.traces["n_clusters"], draws.n_clusters)
    assert draws.n_clusters.mean() == pytest.approx(2.1, abs=0.2)


def test_log_joint_is_the_density_of_partition_and_data():
    """Against scipy, with the conjugate prior and the concentration fixed."""
    from scipy.special import gammaln
    from tests.mixture import exact

    Y, a = two_groups(6), 1.5
    prior = Conjugate(np.zeros(2), 0.3, np.eye(2), 4.0)
    draws = pt.sample_mixture(Y, prior=prior, concentration=a, **SHORT)
    for row, value in zip(draws.labels[:5], draws.traces["log_joint"], strict=False):
        sizes = np.bincount(row)
        wanted = sizes.size * np.log(a) + gammaln(sizes).sum() + gammaln(a) - gammaln(a + 6)
        for k in range(sizes.size):
            wanted += exact.log_marginal_conjugate(Y[row == k], np.zeros(2), 0.3, np.eye(2), 4.0)
        assert value == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("covariance", priors.SHAPES)
@pytest.mark.parametrize("prior", priors.NAMES)
def test_every_prior_and_shape_finds_two_groups(prior, covariance):
    draws = pt.sample_mixture(X, prior=prior, covariance=covariance, **SHORT)
    psm = pt.posterior_similarity(draws).to_dense()
    assert psm[0, 1:20].min() > 0.8
    assert psm[0, 20:].max() < 0.2


def test_one_seed_one_answer_on_any_number_of_threads():
    one = pt.sample_mixture(X, n_chains=3, n_jobs=1, **SHORT)
    two = pt.sample_mixture(X, n_chains=3, n_jobs=2, **SHORT)
    assert one == two
    assert one != pt.sample_mixture(X, n_chains=3, **{**SHORT, "rng": 4})
    first = one.take(one.chains == 0)
    assert np.array_equal(first.labels, pt.sample_mixture(X, **SHORT).labels)


def test_units_do_not_matter_for_the_default_prior():
    scaled = X * [1e-150, 1e150] + [0.0, 3e150]
    a, b = pt.sample_mixture(X, **SHORT), pt.sample_mixture(scaled, **SHORT)
    assert np.array_equal(a.labels, b.labels)


def test_the_callback_sees_progress_and_stops():
    seen = []
    with pytest.warns(PartitaWarning, match="Stopped by the callback: "):
        draws = pt.sample_mixture(
            X, n_draws=10**6, n_burn=10, rng=0, callback=lambda r: seen.append(r) or len(seen) > 3
        )
    assert len(seen) == 4
    assert draws.n_draws == seen[-1].scan - 10
    assert seen[-1].n_clusters >= 1
    assert np.isfinite(seen[-1].log_joint)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_callback_stops_all_chains(n_jobs):
    settings = {"n_draws": 10**5, "n_burn": 10, "n_chains": 3, "rng": 0, "n_jobs": n_jobs}
    with pytest.warns(PartitaWarning, match="Stopped by the callback: "):
        draws = pt.sample_mixture(X, callback=lambda r: r.chain == 0 and r.scan > 50, **settings)
    assert draws.n_draws < 3 * 10**5
    assert n_jobs == 2 or draws.n_chains == 1


def test_a_callback_that_stops_burn_in_is_told_so():
    with pytest.raises(InvalidValueError, match=r"`callback` must let at least one draw be kept"):
        pt.sample_mixture(X, n_draws=5, n_burn=10**6, rng=0, callback=lambda r: True)


def test_a_checkpoint_resumes_to_the_same_draws(tmp_path):
    settings = {"n_draws": 3000, "n_burn": 100, "n_chains": 2, "rng": 7}
    whole = pt.sample_mixture(X, **settings)
    folder = tmp_path / "run"
    with pytest.warns(PartitaWarning):
        pt.sample_mixture(X, checkpoint=folder, callback=lambda r: r.scan > 200, **settings)
    assert pt.sample_mixture(X, checkpoint=folder, n_jobs=2, **settings) == whole
    again = pt.sample_mixture(X, checkpoint=folder, **{**settings, "rng": None})
    assert again == whole
    with pytest.raises(FileError, match="other data or settings"):
        pt.sample_mixture(X + 1.0 * (X > 0), checkpoint=folder, **settings)
    for scaled in (X * 1024, X + 2.0**20):
        with pytest.raises(FileError, match="other data or settings"):
            pt.sample_mixture(scaled, checkpoint=folder, **settings)
    with pytest.raises(FileError, match="seed 7"):
        pt.sample_mixture(X, checkpoint=folder, **{**settings, "rng": 8})


posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
PROGRAM = """
import numpy as np, partita as pt, sys
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2)) + 8.0 * (np.arange(40) >= 20)[:, None]
draws = pt.sample_mixture(X, n_draws=30000, n_burn=10, n_chains=2, rng=7,
                          n_jobs=int(sys.argv[2]), checkpoint=sys.argv[1], checkpoint_seconds=0)
print(draws.n_draws)
"""


def start(folder, jobs):
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder), str(jobs)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (folder / "chain-0.npz").exists():
        time.sleep(0.01)
        assert process.poll() in (None, 0)
    return process


@posix
def test_a_killed_run_resumes_to_the_same_draws(tmp_path):
    process = start(tmp_path / "run", 1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    settings = {"n_draws": 30_000, "n_burn": 10, "n_chains": 2, "rng": 7}
    resumed = pt.sample_mixture(two_groups(), checkpoint=tmp_path / "run", **settings)
    assert resumed == pt.sample_mixture(two_groups(), **settings)


@posix
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_is_done(tmp_path, jobs):
    process = start(tmp_path / "run", jobs)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert 0 < int(out) <= 60_000


def test_what_the_data_must_be():
    with pytest.raises(InvalidValueError, match=r"missing or infinite.*row 3, column 1"):
        pt.sample_mixture(np.where(np.arange(80).reshape(40, 2) == 7, np.nan, X))
    with pytest.raises(InvalidValueError, match="constant columns; got 1: 0"):
        pt.sample_mixture(np.column_stack([np.full(40, 0.1), X]))
    with pytest.raises(InvalidValueError, match="differ by more than their rounding; got 2 that"):
        pt.sample_mixture(X + 1e15)
    with pytest.raises(InvalidValueError, match="singular covariance matrix"):
        pt.sample_mixture(np.random.default_rng(0).normal(size=(5, 8)))
    with pytest.raises(InvalidValueError, match="singular covariance matrix"):
        pt.sample_mixture(np.column_stack([X, X[:, 0] + X[:, 1]]))
    with pytest.raises(InvalidValueError, match="at least two rows"):
        pt.sample_mixture(X[:1])
    with pytest.raises(InvalidTypeError, match="numbers alone"):
        pt.sample_mixture([["a", "b"], ["c", "d"]])
    with pytest.raises(InvalidValueError, match="a row for each item"):
        pt.sample_mixture(np.zeros((2, 2, 2)))


def test_odd_data_that_are_fine():
    wide = np.random.default_rng(0).normal(size=(5, 8))
    assert pt.sample_mixture(wide, covariance="diagonal", **SHORT).n_items == 5
    assert pt.sample_mixture(wide, covariance="spherical", **SHORT).n_items == 5
    twins = np.repeat(X[::4], 4, axis=0)
    psm = pt.posterior_similarity(pt.sample_mixture(twins, **SHORT)).to_dense()
    assert psm[0, 1] > 0.5
    alone = Independent([0.0], [[1.0]], [[1.0]], 2.0)
    assert pt.sample_mixture([0.3], prior=alone, **SHORT).labels.max() == 0
    assert pt.sample_mixture([0.0, 1.0], **SHORT).n_items == 2


def test_what_the_arguments_must_be():
    for words, match in [
        ({"prior": "flat"}, "`prior` must be one of"),
        ({"covariance": "round"}, "`covariance` must be one of"),
        ({"n_draws": 0}, "`n_draws` must be at least 1"),
        ({"start": "middle"}, "`start` must be one of"),
        ({"start": [0, 1]}, "`start` must have one label for each of the 40"),
        ({"df": 1.0}, "`df` must lie in"),
        ({"df": 1e16}, "`df` must lie in"),
        ({"prior": Paper(), "df": 9}, "`df` goes with a prior given by name"),
        ({"prior": Independent(scale=-np.eye(2))}, "`scale` must be a symmetric positive"),
        ({"prior": Independent(mean=[0.0])}, "`mean` must be one finite number"),
    ]:
        with pytest.raises(InvalidValueError, match=match):
            pt.sample_mixture(X, **words)
    with pytest.raises(InvalidTypeError, match="`moves`"):
        pt.sample_mixture(X, moves="all")


@pytest.mark.parametrize("name", starts.NAMES)
def test_starts(name):
    labels = starts.begin(name, X, np.random.default_rng(0), _core.Stop())
    assert labels.shape == (40,)
    assert {"one": 1, "singletons": 40}.get(name, np.unique(labels).size) == np.unique(labels).size
    assert starts.choose(None, 5, 40) == ["kmeans", "one", "singletons", "random", "kmeans"]
    assert "singletons" not in starts.choose(None, 4, 10**5)


def test_paper_and_default_agree_on_the_plane_alone():
    """R0 is (pS)^-1 and S^-1/2: equal for p = 2 and only then."""
    for p, equal in [(2, True), (3, False)]:
        Y = two_groups(p=p)
        S = np.cov(Y.T)
        a, b = (P().complete(Y, "full") for P in (Independent, Paper))
        back_a = a.inverse_scale * np.outer(a.unit, a.unit)
        back_b = b.inverse_scale * np.outer(b.unit, b.unit)
        assert np.allclose(back_a, p * S)
        assert np.allclose(back_b, 2 * S)
        assert np.allclose(back_a, back_b) == equal
        assert np.allclose(a.unit**2, np.ptp(Y, axis=0) ** 2)
        assert np.allclose(b.unit**2, np.ptp(Y, axis=0))


def test_no_warning_in_a_plain_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pt.sample_mixture(X, **SHORT)


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_one_seed_one_answer_on_every_instruction_set(isa):
    code = """
import hashlib, numpy as np, partita as pt
X = np.random.default_rng(0).normal(size=(300, 3)) + 4.0 * (np.arange(300) > 100)[:, None]
MODELS = [(1, "paper", "full"), (2, "independent", "full"), (3, "independent", "full"),
          (3, "conjugate", "full"), (3, "independent", "diagonal"), (2, "paper", "spherical")]
for p, prior, shape in MODELS:
    draws = pt.sample_mixture(X[:, :p], prior=prior, covariance=shape, n_draws=40, n_burn=20, rng=1)
    density = pt.mixture.predictive_density(draws, X[:, :p], X[:5, :p], rng=0)
    arrays = (draws.labels, *draws.traces.values(), density)
    print(*(hashlib.sha256(a.tobytes()).hexdigest() for a in arrays))
"""
    run = partial(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True)
    found = run(env={**os.environ, "PARTITA_ISA": isa})
    if "this machine has" in found.stderr:
        pytest.skip(found.stderr.splitlines()[-1])
    assert found.stdout == run().stdout != ""


def test_a_finite_mixture_refuses_a_start_beyond_its_tables():
    x = np.random.default_rng(0).normal(size=(2100, 1))
    for start in ("singletons", np.arange(2100)):
        with pytest.raises(ValueError, match="at most 2000 clusters under partition='mfm'"):
            pt.sample_mixture(x, n_draws=1, n_burn=0, partition="mfm", start=start)
