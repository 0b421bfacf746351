"""How a launch of the GPU kernel is cut; what it computes is tested on a card (test_gpu.py)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import partita as pt
from partita.kernels import _nvrtc, nmf_quotients


@pytest.mark.parametrize("n", [1, 511, 512, 513, 20_000, 100_000])
@pytest.mark.parametrize("rank", [1, 2, 7, 12, 24])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_every_column_and_row_is_in_one_piece(n, rank, itemsize):
    launch = nmf_quotients.Launch.plan(10, rank, n, itemsize)
    fits, columns, parts = launch.grid
    width = launch.items * nmf_quotients.THREADS
    assert fits == 10
    assert (columns - 1) * width < n <= columns * width
    assert (parts - 1) * launch.chunk < n <= parts * launch.chunk
    assert parts <= nmf_quotients.MOST_PARTS
    assert launch.chunk % nmf_quotients.TILE == 0
    assert 2 * rank * launch.items * itemsize <= 4 * 96


def test_ranks_too_wide_are_left_to_arrays():
    assert nmf_quotients.Launch.plan(1, 49, 100, 4).items == 0
    assert nmf_quotients.Launch.plan(1, 25, 100, 8).items == 0


def test_a_tile_is_a_whole_number_of_steps():
    assert nmf_quotients.TILE % nmf_quotients.DEPTH == 0
    assert "#define K 7\n" in nmf_quotients.source(7, 4, "float32")
    assert "#define REAL double\n" in nmf_quotients.source(7, 2, "float64")


def test_a_cpu_has_none():
    torch = pytest.importorskip("torch")
    V, A = np.ones((4, 4)), np.ones((1, 2, 4))
    assert nmf_quotients.quotient_sums(V, A, A) is None
    assert nmf_quotients.quotient_sums(*(torch.asarray(x) for x in (V, A, A))) is None


def test_a_kernel_that_fails_is_said_once_and_arrays_do_its_work(monkeypatch):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, (20, 30))
    V = torch.asarray(np.array(pt.posterior_similarity(labels).to_dense()))
    how = {"model": "kl", "rank": 3, "n_init": 2, "solver": "mu", "rng": 0}
    expected = pt.factorize(V, **how)
    tried = []

    def broken(*_):
        tried.append(1)
        raise _nvrtc.KernelError("it did not compile for sm_90, no such thing")

    monkeypatch.setattr(nmf_quotients, "_failed", set())
    monkeypatch.setattr(nmf_quotients, "_is_on_gpu", lambda V: True)
    monkeypatch.setattr(nmf_quotients, "_torch", broken)
    with pytest.warns(pt.errors.PartitaWarning, match=r"did not compile for sm_90.*more slowly"):
        found = pt.factorize(V, **how)
    assert torch.equal(found.H, expected.H)
    assert len(tried) == 1


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"nvrtcCompileProgram": 6}, "did not compile for sm_90"),
        ({"nvrtcCreateProgram": 1}, "could not be read, error 1"),
        ({"nvrtcGetCUBIN": 2}, "could not be copied, error 2"),
        ({"cuModuleLoadData": 200}, "could not be loaded, error 200"),
        ({"nvrtcGetCUBINSize": None}, "not as expected"),
    ],
)
def test_every_failure_of_the_compiler_is_one_kind_of_error(monkeypatch, made, said):
    names = "CreateProgram CompileProgram GetProgramLogSize GetProgramLog GetCUBINSize GetCUBIN"
    status = {f"nvrtc{name}": 0 for name in [*names.split(), "DestroyProgram"]}
    status |= {"cuModuleLoadData": 0, "cuModuleGetFunction": 0} | made
    calls = {
        name: (lambda *_, code=code: code) for name, code in status.items() if code is not None
    }
    monkeypatch.setattr(_nvrtc, "_compiler", lambda: SimpleNamespace(**calls))
    monkeypatch.setattr(_nvrtc, "_driver", lambda: SimpleNamespace(**calls))
    with pytest.raises(_nvrtc.KernelError, match=said):
        _nvrtc.compiled("source", "quotient_sums", "sm_90")
