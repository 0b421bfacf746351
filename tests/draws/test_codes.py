"""What the sampler called each cluster is kept, whatever is done to the draws."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr

import partita as pt
from partita.errors import InvalidTypeError, InvalidValueError

RAW = np.array([[7, 7, 3, -1], [2, 9, 2, 2], [5, 5, 5, 5], [3, 7, 3, 9]])
CODES = [[7, 3, -1], [2, 9], [5], [3, 7, 9]]


def by_draw(draws: pt.Draws) -> list[list]:
    return [part.tolist() for part in np.split(draws.codes, np.cumsum(draws.n_clusters)[:-1])]


def test_canonical_form_keeps_them() -> None:
    assert by_draw(pt.Draws(RAW)) == CODES


def test_chains_of_floats_and_words() -> None:
    assert by_draw(pt.Draws(RAW.reshape(2, 2, 4).astype(float))) == CODES
    words = np.array(["a", "b", "c"])[np.array([[2, 2, 0], [1, 0, 1]])]
    assert by_draw(pt.Draws(words)) == [["c", "a"], ["b", "a"]]
    assert by_draw(pt.Draws(words.astype(object))) == [["c", "a"], ["b", "a"]]


def test_choosing_draws_chooses_codes() -> None:
    draws = pt.Draws(RAW, chains=[0, 0, 1, 1])
    assert by_draw(draws.take([3, 0])) == [CODES[3], CODES[0]]
    assert by_draw(draws.burn(1)) == [CODES[1], CODES[3]]
    assert by_draw(draws.thin(2)) == [CODES[0], CODES[2]]


def test_concat() -> None:
    draws = pt.Draws(RAW)
    assert by_draw(pt.Draws.concat([draws, draws.take([1])])) == [*CODES, CODES[1]]
    assert not pt.Draws.concat([draws, draws.unique()]).has_codes


def test_unique_drops_them() -> None:
    draws = pt.Draws(RAW).unique()
    assert not draws.has_codes
    assert not draws.take([0, 1]).has_codes


@pytest.mark.parametrize("labels", [RAW, np.array([["b", "a"], ["a", "c"]])])
def test_saved_and_read(labels: np.ndarray, tmp_path) -> None:
    draws = pt.Draws(labels)
    draws.save(tmp_path / "draws.npz")
    assert by_draw(pt.read_draws(tmp_path / "draws.npz")) == by_draw(draws)
    draws.unique().save(tmp_path / "unique.npz")
    assert not pt.read_draws(tmp_path / "unique.npz").has_codes


def test_text(tmp_path) -> None:
    path = tmp_path / "draws.csv"
    path.write_text("b,b,a,c\na,c,a,a\nc,c,c,c\n" * 3)
    assert by_draw(pt.read_draws(path)) == [["b", "a", "c"], ["a", "c"], ["c"]] * 3


@pytest.mark.parametrize("stored", [True, False])
def test_npy(stored: bool, tmp_path) -> None:
    np.save(tmp_path / "draws.npy", RAW)
    draws = pt.read_draws(tmp_path / "draws.npy", stored=stored)
    assert by_draw(draws) == CODES
    assert by_draw(draws.take([2, 3])) == CODES[2:]


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("name", ["chain.npy", "chain.zarr", "chain.part.npy"])
def test_the_writer_keeps_the_samplers_numbers(tmp_path, name: str, stored: bool) -> None:
    """A sampler's own order of components finds its parameters in draws that were read back."""
    rng, groups = np.random.default_rng(0), np.repeat([0, 1, 2], 20)
    order = np.array([rng.permutation([5, 0, 9]) for _ in range(50)])
    mu = np.full((50, 10), np.nan)
    np.put_along_axis(mu, order, np.array([-1.0, 0.0, 1.0]) + rng.normal(0, 0.01, (50, 3)), axis=1)
    z = order[:, groups]
    with pt.DrawsWriter(tmp_path / name.replace(".part", "")) as writer:
        for row in z:
            writer.write(row)
        if "part" in name:
            draws = pt.read_draws(tmp_path / name, stored=stored)
    if "part" not in name:
        draws = pt.read_draws(tmp_path / name, stored=stored)
    assert by_draw(draws) == order.tolist()
    found = pt.cluster_parameters(groups, draws, {"mu": mu})
    np.testing.assert_allclose(found["mu"].mean(("chain", "draw")), [-1, 0, 1], atol=0.01)


def test_the_writer_takes_whole_numbers_of_32_bits(tmp_path) -> None:
    with pt.DrawsWriter(tmp_path / "a.npy") as writer:
        with pytest.raises(InvalidTypeError, match="whole numbers.*number the words"):
            writer.write(["a", "b"])
        with pytest.raises(InvalidValueError, match="within 32 bits; got 0 to 2147483648"):
            writer.write([0, 2**31])
        writer.write([-(2**31), 2**31 - 1])
    assert pt.read_draws(tmp_path / "a.npy").codes.tolist() == [-(2**31), 2**31 - 1]


def test_dask() -> None:
    assert by_draw(pt.Draws(da.from_array(RAW, chunks=(4, 2)))) == CODES


def test_arviz_and_back() -> None:
    draws = pt.Draws(RAW, chains=[0, 0, 1, 1])
    back = pt.as_draws(draws.to_arviz())
    assert back == draws
    assert by_draw(back) == CODES


def test_sampled_from_log_weights() -> None:
    responsibilities = np.eye(4)[np.abs(RAW % 4)]
    draws = pt.Draws.from_log_weights(np.log(responsibilities + 1e-300), rng=0)
    assert by_draw(draws) == by_draw(pt.Draws(RAW % 4))


def test_of_another_length() -> None:
    with pytest.raises(InvalidValueError, match=r"one for each of the 9 clusters.*shape \(3,\)"):
        pt.Draws(RAW, codes=[1, 2, 3])


def test_components_with_coordinates() -> None:
    log_w = np.log(np.eye(4)[np.abs(RAW % 4)] + 1e-300)[None]
    dims = ("chain", "draw", "item", "component")
    data = xr.Dataset({"log_w": (dims, log_w)}, {"component": ["w", "x", "y", "z"]})
    draws = pt.Draws.from_log_weights(data, rng=0)
    assert draws.codes.tolist() == np.array(list("wxyz"))[pt.Draws(RAW % 4).codes].tolist()
