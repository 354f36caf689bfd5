"""The same bytes from one machine, from shards, and from a cluster that loses a node."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import thickset

ray = pytest.importorskip("ray", reason="Ray is not installed")


def command(*arguments: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "thickset", *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def small_run(folder: Path, epochs: int) -> dict[str, object]:
    return {
        "k": 2,
        "data": {"source": str(folder / "rows.csv"), "target": "label"},
        "model": {"kind": "mlp", "hidden": [16]},
        "objective": {"kind": "vanilla"},
        "train": {"epochs": epochs},
    }


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one core each."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
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
        'model = { kind = "mlp", hidden = [8] }\ntrain = { epochs = 2 }\nsweep = { "objective.gap_weight" = [0.0, 0.05], seed = [1, 2] }\n'
    )
    lines = ["a,b,c,label"]
    for row in range(2000):
        a, b, c = (row * 37 % 101) / 101, (row * 53 % 97) / 97, (row * 71 % 89) / 89
        lines.append(f"{a:.4f},{b:.4f},{c:.4f},{'yes' if a + b > c + 0.5 else 'no'}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    thickset.train(small_run(folder, 3)).model.save(folder / "model.safetensors")
    return folder


def shard_under(ancestor: int) -> str:
    """The shard that a process below this one is auditing, as soon as there is one."""

    def parent(process: int) -> int:
        try:
            # The name, which may hold blanks, ends with the last bracket; state and parent follow.
            return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            return 0

    for _ in range(6000):
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_text().split("\0") if entry.name.isdigit() else []
            except (OSError, UnicodeDecodeError):
                continue
            if "--shard" not in words:
                continue
            process = int(entry.name)
            while process > 1:
                process = parent(process)
                if process == ancestor:
                    return words[words.index("--shard") + 1]
        time.sleep(0.01)
    return "none"


OPTIONS = ["--effort", "quick", "--no-certificates", "--explanation", "grad"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="what a node is at is read from /proc")
def test_an_audit_has_the_bytes_of_one_machine_although_one_of_two_nodes_is_killed(cluster, work: Path) -> None:
    from thickset.ray import audit

    command("audit", "--model", "model.safetensors", "--data", "rows.csv", "--out", "one", *OPTIONS, cwd=work)
    expected = (work / "one" / "audit.json").read_bytes()
    seen: list[tuple[int, int]] = []
    killed: list[int] = []
    busy: list[str] = []

    def kill_after_two(done: int, of: int) -> None:
        seen.append((done, of))
        if done == 2:
            (other,) = [node for node in cluster.list_all_nodes() if not node.head]
            # Five shards are left, and each node takes one at a time: the node dies in the middle of one.
            busy.append(shard_under(other.all_processes["raylet"][0].process.pid))
            cluster.remove_node(other, allow_graceful=False)
            killed.append(of - done)

    found = audit(
        work / "model.safetensors", work / "rows.csv", shards=7, out=work / "many", arguments=OPTIONS, progress=kill_after_two
    )
    assert killed == [5]
    assert re.fullmatch(r"[1-7]/7", busy[0]), "the node was at work when it was killed"
    # Ray hears of a lost node by a missed heartbeat, which may be after the last shard.
    for _ in range(600):
        if sum(node["Alive"] for node in ray.nodes()) == 1:
            break
        time.sleep(0.1)
    assert sum(node["Alive"] for node in ray.nodes()) == 1
    assert (work / "many" / "audit.json").read_bytes() == expected
    assert (work / "many" / "report.html").read_bytes() == (work / "one" / "report.html").read_bytes()
    assert seen[-1] == (7, 7)
    assert 0 <= found["p_at_k"] <= 1
    cluster.add_node(num_cpus=1)


def test_a_folder_of_files_and_a_path_of_fsspec_are_audited_like_one_machine_does(cluster, work: Path) -> None:
    from thickset.ray import audit

    lines = (work / "rows.csv").read_text().splitlines(keepends=True)
    folder = work / "rows"
    folder.mkdir()
    for number, start in enumerate(range(1, 601, 200)):
        (folder / f"part-{number}.csv").write_text(lines[0] + "".join(lines[start : start + 200]))
    command("audit", "--model", "model.safetensors", "--data", "rows", "--out", "of-folder", *OPTIONS, cwd=work)
    expected = (work / "of-folder" / "audit.json").read_bytes()
    for data, shared in [(folder, False), (folder, True), (f"file://{folder}", False)]:
        found = audit(thickset.load(work / "model.safetensors"), data, shards=2, arguments=OPTIONS, shared=shared)
        assert found.to_bytes() == expected, (data, shared)
    with pytest.raises(thickset.ThicksetError, match="every node sees it"):
        audit(work / "model.safetensors", work / "nothing", shared=True)


def parquet_of(work: Path, rows_of_a_group: int) -> Path:
    """The rows as Parquet in row groups, with a column that the model does not know."""
    import pandas
    import pyarrow
    import pyarrow.parquet

    frame = pandas.read_csv(work / "rows.csv")
    frame.insert(0, "note", [f"note {row}" for row in range(len(frame))])
    path = work / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), path, row_group_size=rows_of_a_group)
    return path


def test_parquet_is_audited_like_one_machine_does_wherever_it_lies(cluster, work: Path) -> None:
    from thickset.ray import audit

    path = parquet_of(work, 300)
    command("audit", "--model", "model.safetensors", "--data", "rows.parquet", "--out", "of-parquet", *OPTIONS, cwd=work)
    expected = (work / "of-parquet" / "audit.json").read_bytes()
    for data in [path, f"file://{path}"]:
        found = audit(work / "model.safetensors", data, shards=3, arguments=OPTIONS)
        assert found.to_bytes() == expected, data


def test_a_shard_fetches_its_row_groups_and_the_models_columns_alone(work: Path) -> None:
    import pyarrow.parquet
    from fsspec import register_implementation
    from fsspec.implementations.local import LocalFileSystem

    from thickset.ray import _model_bytes, _part

    fetched: list[int] = []

    class Counted(LocalFileSystem):
        """Counts the bytes that are fetched."""

        protocol = "counted"

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.removeprefix("counted://"))

        def cat_file(self, path, start=None, end=None, **options):
            content = super().cat_file(path, start=start, end=end, **options)
            fetched.append(len(content))
            return content

        def get_file(self, *arguments, **options):
            raise AssertionError("the whole file is fetched")

    register_implementation("counted", Counted, clobber=True)
    path = parquet_of(work, 300)
    metadata = pyarrow.parquet.ParquetFile(path).metadata
    # Without `note`, the first column.
    groups = [
        sum(metadata.row_group(group).column(column).total_compressed_size for column in range(1, metadata.num_columns))
        for group in range(metadata.num_row_groups)
    ]
    footer = metadata.serialized_size
    # 2,000 rows are 8 blocks of 256: rows 0 to 512, 512 to 1024, and so on, in row groups of 300.
    needed = [(0, 2), (1, 4), (3, 6), (5, 7)]
    for number, (first, end) in enumerate(needed, start=1):
        fetched.clear()
        _part(_model_bytes(work / "model.safetensors"), (f"counted://{path}", None), number, 4, [*OPTIONS, "--noise-draws", "2"])
        columns = sum(groups[first:end])
        # The tail once, the footer twice, the first bytes.
        assert columns <= sum(fetched) <= columns + 2 * footer + 64, number


def test_a_shard_that_fails_says_why(cluster, work: Path) -> None:
    from thickset.ray import audit

    with pytest.raises(thickset.ThicksetError, match="shard 1 of 1.*nothing.csv"):
        audit(work / "model.safetensors", "nothing.csv", shards=1)


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


def test_tune_tries_settings_and_hears_of_both_figures(cluster, work: Path) -> None:
    pytest.importorskip("ray.tune", reason="Ray Tune is not installed")
    from ray import tune

    from thickset.ray import trainable

    tuner = tune.Tuner(
        trainable(small_run(work, 1)),
        param_space={"seed": tune.grid_search([1, 2])},
        run_config=tune.RunConfig(storage_path=str(work / "tune"), verbose=0),
    )
    found = tuner.fit()
    assert not found.errors
    for result in found:
        assert 0 <= result.metrics["auc"] <= 1 and 0 <= result.metrics["p_at_k"] <= 1


def test_settings_go_to_their_places() -> None:
    from thickset.ray import _with_settings

    found = _with_settings({"train": {"epochs": 2}}, {"train.batch": 64, "objective.kind": "r2et", "seed": 3})
    assert found == {"train": {"epochs": 2, "batch": 64}, "objective": {"kind": "r2et"}, "seed": 3}
    with pytest.raises(thickset.ThicksetError):
        _with_settings({"seed": 3}, {"seed.x": 1})
