"""The same bytes from one machine, from shards, and from a cluster that loses a node."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import thickset

ray = pytest.importorskip("ray", reason="Ray is not installed")


def command(*arguments: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "thickset", *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ray")
    (folder / "run.toml").write_text(
        'name = "small"\nseed = 1\ndata = { source = "breast-cancer" }\n'
        'train = { epochs = 2 }\nsweep = { "objective.gap_weight" = [0.0, 0.05], seed = [1, 2] }\n'
    )
    lines = ["a,b,c,label"]
    for row in range(2000):
        a, b, c = (row * 37 % 101) / 101, (row * 53 % 97) / 97, (row * 71 % 89) / 89
        lines.append(f"{a:.4f},{b:.4f},{c:.4f},{'yes' if a + b > c + 0.5 else 'no'}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    run = {"data": {"source": str(folder / "rows.csv"), "target": "label"}, "train": {"epochs": 3}, "probe": {"k": 2}}
    thickset.train(run).model.save(folder / "model.safetensors")
    return folder


OPTIONS = ["--effort", "quick", "--no-certificates"]


def test_an_audit_has_the_bytes_of_one_machine_although_a_node_is_lost(cluster, work: Path) -> None:
    from thickset.ray import audit

    command("audit", "--model", "model.safetensors", "--data", "rows.csv", "--out", "one", *OPTIONS, cwd=work)
    expected = (work / "one" / "audit.json").read_bytes()
    lost = cluster.add_node(num_cpus=1)

    def lose() -> None:
        time.sleep(2)
        cluster.remove_node(lost)

    thread = threading.Thread(target=lose)
    thread.start()
    seen: list[tuple[int, int]] = []
    found = audit(
        work / "model.safetensors",
        work / "rows.csv",
        shards=7,
        out=work / "many",
        arguments=OPTIONS,
        progress=lambda done, of: seen.append((done, of)),
    )
    thread.join()
    assert (work / "many" / "audit.json").read_bytes() == expected
    assert seen[-1] == (7, 7)
    assert 0 <= found["p_at_k"] <= 1


def test_a_sweep_has_the_bytes_of_one_machine(cluster, work: Path) -> None:
    from thickset.ray import sweep

    command("train", "run.toml", "--out", "alone", cwd=work)
    folder = sweep(work / "run.toml", out=work / "together")
    for name in ["model.safetensors", "sweep.json"]:
        assert (folder / name).read_bytes() == (work / "alone" / "small" / name).read_bytes(), name


def test_rows_of_ray_data_keep_their_numbers(cluster, work: Path) -> None:
    import numpy
    import pandas

    from thickset.ray import Explainer

    frame = pandas.read_csv(work / "rows.csv").drop(columns="label").head(300)
    frame["row"] = numpy.arange(len(frame))
    rows = ray.data.from_pandas(frame).repartition(3)
    found = rows.map_batches(
        Explainer, fn_constructor_kwargs={"model": str(work / "model.safetensors"), "keep": ["row"]}, batch_size=64, concurrency=1
    ).to_pandas()
    assert sorted(found["row"]) == list(range(300))
    expected = thickset.load(work / "model.safetensors").explain(frame.drop(columns="row")).to_pandas()
    shown = found.sort_values("row").reset_index(drop=True).drop(columns="row")
    for column in expected.columns:
        assert list(shown[column]) == list(expected[column]), column


def test_settings_go_to_their_places() -> None:
    from thickset.ray import _with_settings

    found = _with_settings({"train": {"epochs": 2}}, {"train.batch": 64, "objective.kind": "r2et", "seed": 3})
    assert found == {"train": {"epochs": 2, "batch": 64}, "objective": {"kind": "r2et"}, "seed": 3}
    with pytest.raises(thickset.ThicksetError):
        _with_settings({"seed": 3}, {"seed.x": 1})
