"""Which variable holds the labels, what comes along, and what is said when it is unclear."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import partita as pt
from formats_data import ALPHA, BY_CHAIN, DATA, LABELS, cmdstan, dataset, text, tree
from partita.errors import FileError, InvalidValueError, MissingDependencyError


class TestChoice:
    def test_a_usual_name_decides(self):
        draws = pt.as_draws({"z": LABELS, "y_rep": LABELS * 2, "mu": ALPHA})
        assert draws == pt.as_draws({"z": LABELS, "mu": ALPHA})
        assert "usually" in draws.assumptions[0]

    def test_several(self):
        data = {"first": LABELS, "second": LABELS * 2}
        with pytest.raises(FileError, match=r"several .* pass key= with one of 'first'"):
            pt.as_draws(data)
        assert pt.as_draws(data, key="second").n_draws == 24

    def test_other_groups(self):
        data = xr.DataTree.from_dict(
            {"posterior": dataset().drop_vars("z"), "posterior_predictive": dataset()[["z"]]}
        )
        assert pt.as_draws(data).labels.tolist() == pt.Draws(LABELS).labels.tolist()
        data = xr.DataTree.from_dict({"posterior": dataset(), "prior": dataset()})
        assert pt.as_draws(data, key="prior/z") == pt.as_draws(data)

    def test_the_wrong_shape(self):
        with pytest.raises(InvalidValueError, match=r"a label for every draw and item.*\(2, 12\)"):
            pt.as_draws(tree(), key="alpha")

    def test_an_integer_column_beside_weights_of_items(self):
        # Draws come first where two axes are shared but the first is too long for chains.
        data = {"z": np.tile(LABELS, (10, 1)), "w": np.zeros((240, 9, 4))}
        assert pt.as_draws(data).n_draws == 240


class TestBeside:
    def test_names_traces_and_density(self, tmp_path):
        data = tree(obs=[f"galaxy {i}" for i in range(9)])
        path = tmp_path / "a.nc"
        data.to_netcdf(path, engine="h5netcdf")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zarr: text of a fixed length has no specification
            for version in (2, 3):
                data.to_zarr(tmp_path / f"{version}.zarr", zarr_format=version)
        paths = (path, tmp_path / "2.zarr", tmp_path / "3.zarr")
        for draws in (pt.as_draws(data), *map(pt.read_draws, paths)):
            assert draws.item_names[0] == "galaxy 0"
            assert sorted(draws.traces) == ["alpha", "lp"]
            assert draws.traces["lp"].tolist() == (-ALPHA).tolist()

    def test_there_and_back(self, tmp_path):
        draws = pt.Draws(
            BY_CHAIN,
            weights=np.arange(1, 25),
            item_names=list("abcdefghi"),
            traces={"alpha": ALPHA},
        )
        assert pt.as_draws(draws.to_arviz()) == draws
        groups = {"posterior": draws.to_arviz()["posterior"]}
        posterior = getattr(groups["posterior"], "dataset", groups["posterior"])
        posterior.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
        assert pt.read_draws(tmp_path / "a.nc") == draws


class TestOrientation:
    def test_items_in_rows(self, tmp_path):
        frame = pd.DataFrame(LABELS.T, columns=[f"d{i}" for i in range(24)])
        frame.to_parquet(tmp_path / "a.parquet")
        draws = pt.read_draws(tmp_path / "a.parquet", orient="items")
        assert draws.labels.tolist() == pt.Draws(LABELS).labels.tolist()
        assert draws.item_names is None


class TestText:
    def test_predictions_of_premium_are_left_out(self, tmp_path):
        rows = "\n".join(" ".join(map(str, [*row, 0, 0])) for row in LABELS)
        path = text(tmp_path / "out_z.txt", rows)
        assert pt.read_draws(path).n_items == 11
        text(tmp_path / "out_log.txt", "Seed: 1\n\nNumber of subjects: 9\n")
        draws = pt.read_draws(path)
        assert draws.labels.tolist() == pt.Draws(LABELS).labels.tolist()
        assert "predictions" in draws.assumptions[-2]

    def test_a_run_of_premium(self):
        draws = pt.read_draws(DATA / "premium_z.txt")  # twelve subjects in two groups, two new ones
        assert (draws.n_draws, draws.n_items) == (10, 12)
        raw = np.loadtxt(DATA / "premium_z.txt", dtype=int)
        for ours, theirs in zip(draws.labels, raw[:, :12], strict=True):
            assert pt.adjusted_rand_index(ours, theirs) == 1.0

    def test_only_warm_up(self, tmp_path):
        top = "# stan_version_major = 2\n# num_warmup = 9\n# save_warmup = 1\n"
        with pytest.raises(FileError, match="no draws after the warm-up"):
            pt.read_draws(text(tmp_path / "a.csv", top + "lp__,z.1,z.2\n0,1,1\n"))

    def test_patterns(self, tmp_path):
        for c in (10, 9):
            text(tmp_path / f"fit-{c}.csv", cmdstan(LABELS[:c], ALPHA[:c]))
        draws = pt.read_draws(tmp_path / "fit-*.csv")
        assert draws.chains.tolist() == [0] * 9 + [1] * 10
        paths = [tmp_path / "fit-9.csv", tmp_path / "fit-10.csv"]
        assert pt.read_draws(paths) == draws == pt.as_draws(paths)
        with pytest.raises(FileError, match="matches no file"):
            pt.read_draws(tmp_path / "none-*.csv")


class TestR:
    def test_names_within_lists(self):
        draws = pt.read_draws(DATA / "bnpmix.rds", key="clust")
        assert draws == pt.read_draws(DATA / "bnpmix.rds")
        with pytest.raises(InvalidValueError, match="whole numbers"):
            pt.read_draws(DATA / "bnpmix.rds", key="density")


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("xarray", "a.nc", "netcdf"),
        ("pyarrow", "a.parquet", "parquet"),
        ("rdata", "a.rds", "rdata"),
    ],
)
def test_what_is_not_installed_is_said(tmp_path, monkeypatch, module, name, extra):
    monkeypatch.setitem(sys.modules, module, None)
    begin = {"netcdf": b"\x89HDF\r\n\x1a\n", "parquet": b"PAR1", "rdata": b"RDX3\n"}[extra]
    (tmp_path / name).write_bytes(begin)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'partita\[{extra}\]'"):
        pt.read_draws(tmp_path / name)


class TestFits:
    """Objects of the programs that made the draws; their own, where they are installed."""

    def test_cmdstanpy(self):
        class CmdStanMCMC:
            def draws_xr(self):
                return dataset()

        draws = pt.as_draws(CmdStanMCMC(), key="z")
        assert np.array_equal(draws.labels, pt.as_draws(tree()).labels)
        assert draws.n_chains == 2


def test_three_axes_of_r_that_say_nothing_are_not_taken_for_many_chains(tmp_path):
    with pytest.raises(FileError, match=r"12 chains of 2 draws.*aperm\(x, c\(2, 1, 3\)\)"):
        pt.read_draws(DATA / "bare.rds")
