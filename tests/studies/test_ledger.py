import pytest

from partita.errors import FileError, PartitaWarning
from partita.studies._common import versions
from partita.studies.ledger import Ledger

ROW = {"a": 0.123456789, "b": 2.0}


def begin(path, **words):
    return Ledger.open(path, "asked", ("a", "b"), **{"resume": True, **words})


def test_a_row_cut_short_is_dropped_and_the_rest_kept(tmp_path):
    path = tmp_path / "rows.csv"
    ledger = begin(path)
    ledger.add(("x", 1), ROW)
    ledger.add(("x", 0), ROW)
    path.write_bytes(path.read_bytes()[:-3])
    assert begin(path).rows == {("x", 1): (0.123457, 2.0)}
    wanted = f"# asked\n# made with {versions()}\npiece,replicate,a,b\nx,1,0.123457,2\n"
    assert path.read_text() == wanted


def test_a_full_disk_is_said_and_what_was_there_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    ledger = begin(path)
    ledger.add(("x", 0), ROW)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("partita.studies.ledger.os.fsync", full)
        with pytest.raises(FileError, match=r"rows\.csv.*No space left.*`resume`"):
            ledger.add(("x", 1), ROW)
    path.write_bytes(path.read_bytes()[:-5])  # as much of the row as there was room for
    again = begin(path)
    assert set(again.rows) == {("x", 0)}
    again.add(("x", 1), ROW)
    assert set(begin(path).rows) == {("x", 0), ("x", 1)}


def test_order_of_arrival_leaves_no_trace(tmp_path):
    for name, order in (("one", (0, 1, 2)), ("two", (2, 0, 1))):
        ledger = begin(tmp_path / name)
        for i in order:
            ledger.add(("x", i), {"a": i / 3, "b": 1e-9 * i})
        ledger.settle()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_refusals(tmp_path):
    path = tmp_path / "rows.csv"
    begin(path).add(("x", 0), ROW)
    with pytest.raises(FileError, match="resume"):
        begin(path, resume=False)
    with pytest.raises(FileError, match="other settings"):
        Ledger.open(path, "asked otherwise", ("a", "b"), resume=True)
    path.write_text(path.read_text() + "x,1,2\n")
    with pytest.raises(FileError, match="damaged at x 1"):
        begin(path)


@pytest.mark.parametrize("there", ["# made with partita 0.0.1\n", ""])
def test_going_on_with_other_versions_is_said_and_recorded(tmp_path, there):
    path = tmp_path / "rows.csv"
    path.write_text(f"# asked\n{there}piece,replicate,a,b\nx,0,1,2\n")
    told = "partita 0.0.1" if there else "versions that were not recorded"
    with pytest.warns(PartitaWarning, match=f"was made with {told}, and goes on with partita"):
        begin(path)
    assert path.read_text().splitlines()[1:3] == [
        f"# made with {told}", f"# made with {versions()}"
    ]  # fmt: skip
    begin(path)  # said once
    assert begin(path).rows == {("x", 0): (1.0, 2.0)}
    assert Ledger.peek(path).made == [told, versions()]
