"""Audits, sweeps and explanations on a Ray cluster: `pip install "thickset[ray]"`.

An audit is cut into shards of whole blocks of rows; each is a Ray task, and the parts are merged into the bytes that one machine would write. Ray
runs the shards of a lost node again on another one.

>>> import thickset.ray  # doctest: +SKIP
>>> thickset.ray.audit("model.safetensors", "loans.csv", shards=64).passed  # doctest: +SKIP
True
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thickset._errors import ThicksetError, ThicksetTypeError, ThicksetValueError

if TYPE_CHECKING:
    from thickset._results import Audit

__all__ = ["Explainer", "audit", "sweep", "trainable"]

# Called with how many tasks are done, and how many there are.
OnProgress = Callable[[int, int], None]


def audit(
    model: Any,
    data: str | os.PathLike[str],
    *,
    shards: int | None = None,
    out: str | os.PathLike[str] | None = None,
    arguments: Sequence[str] = (),
    shared: bool = False,
    retries: int = 3,
    progress: bool | OnProgress = False,
) -> Audit:
    """Audits a model on a cluster: the same bytes as `thickset audit` on one machine.

    Parameters
    ----------
    model
        A `Model`, an estimator that holds one, or the path of a model file. It is sent once to each node.
    data
        A file, or a folder of CSV or Parquet files; a path that fsspec reads, like `s3://bucket/rows.parquet` or a folder there; or the name of
        a dataset, which must be known to every node. Of Parquet, a shard is sent or fetches the row groups that hold its rows, and of these
        the model's columns; other local files are sent once to each node, and every shard fetches all of other remote ones.
    shards
        How many tasks; twice the cluster's cores if left out. The result does not depend on it.
    out
        The folder for `audit.json` and `report.html`; none is kept if left out.
    arguments
        More options of the command, like `["--effort", "quick", "--require", "p_at_k>=0.9"]`.
    shared
        The file or folder lies where every node sees it under this path: nothing is sent.
    retries
        How often a shard is run again when its node is lost.
    progress
        True shows a bar with tqdm; or a function of the tasks done and of all.
    """
    from thickset._functions import read_audit

    ray = _ray()
    count = shards if shards is not None else 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    if count < 1:
        raise ThicksetValueError(f"expected at least 1 shard, got {count}")
    model_file = _model_bytes(model)
    sent = ray.put(model_file)
    options = list(arguments)
    task = ray.remote(_part).options(max_retries=retries)
    pieces = None if shared else _local_parquet(data)
    if pieces is not None:
        # One shard's bytes at a time: they go to the object store, and from there to whoever runs the shard.
        waiting = [
            task.remote(sent, pieces.of_shard(model_file, number, count, options), number, count, options)
            for number in range(1, count + 1)
        ]
    else:
        rows = ray.put(_source(data, shared))
        waiting = [task.remote(sent, rows, number, count, options) for number in range(1, count + 1)]
    with tempfile.TemporaryDirectory(prefix="thickset-") as work:
        folders = []
        for number, files in _each_done(ray, waiting, progress, "shards"):
            folder = Path(work) / f"part-{number + 1}"
            _unpack(files, folder)
            folders.append(folder)
        folders.sort(key=lambda folder: int(folder.name.removeprefix("part-")))
        merged = Path(out) if out is not None else Path(work) / "audit"
        done = _command("merge", *map(str, folders), "--out", str(merged))
        # A requirement that does not hold ends with 1, and the audit is whole.
        if done.returncode not in (0, 1):
            raise ThicksetError(done.stderr.strip())
        return read_audit(merged / "audit.json")


def sweep(
    config: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] = "runs",
    arguments: Sequence[str] = (),
    retries: int = 3,
    progress: bool | OnProgress = False,
) -> Path:
    """Trains the runs of a sweep on a cluster, one a task, and chooses as `thickset train` does. Gives the run's folder.

    The data that the configuration names is sent along where it is a file beside it.

    Parameters
    ----------
    config
        A `run.toml` with a `sweep`.
    out
        The folder that the run's folder is made in.
    arguments
        More options of the command, like `["--set", "train.epochs=10"]`.
    retries
        How often a run is begun again when its node is lost.
    """
    ray = _ray()
    path = Path(config)
    text = path.read_text()
    read = tomllib.loads(text)
    combinations = 1
    for values in read.get("sweep", {}).values():
        combinations *= len(values)
    if not read.get("sweep"):
        raise ThicksetValueError(f"`{path}` has no `sweep`: name the settings to try, like sweep = {{ seed = [0, 1] }}")
    name = read.get("name", "run")
    source = read.get("data", {}).get("source")
    beside = path.parent / source if isinstance(source, str) else None
    files = {"run.toml": text.encode()}
    if beside is not None and beside.is_file() and not Path(source).is_absolute():
        files[source] = beside.read_bytes()
    sent = ray.put(files)
    task = ray.remote(_runs).options(max_retries=retries)
    waiting = [task.remote(sent, number, combinations, list(arguments)) for number in range(1, combinations + 1)]
    folder = Path(out).absolute()
    for _, made in _each_done(ray, waiting, progress, "runs"):
        _unpack(made, folder)
    done = _command("train", path.name, "--resume", "--out", str(folder), *arguments, cwd=path.parent)
    if done.returncode != 0:
        raise ThicksetError(done.stderr.strip())
    found: Path = folder / name
    return found


class Explainer:
    """Explains batches of Ray Data: `dataset.map_batches(Explainer, fn_constructor_kwargs={"model": path}, concurrency=4)`.

    Ray Data does not keep the order of rows by default, so every column that `keep` names, such as a row's number, travels along.

    Parameters
    ----------
    model
        The path of a model file that every node can read, or a `Model`.
    keep
        Columns to hand on beside the explanation.
    options
        As for `Model.explain`, like `{"explanation": "grad"}`.
    """

    def __init__(self, model: Any, keep: Sequence[str] = (), options: Mapping[str, Any] | None = None) -> None:
        import thickset

        self._model = thickset.load(os.fspath(model)) if isinstance(model, (str, os.PathLike)) else model
        self._keep = list(keep)
        self._options = dict(options or {})

    def __call__(self, batch: Any) -> dict[str, Any]:
        import numpy
        import pandas

        frame = pandas.DataFrame(batch) if isinstance(batch, Mapping) else batch
        missing = [name for name in self._keep if name not in frame]
        if missing:
            raise ThicksetValueError(f"the batch has no column {missing[0]!r}; it has {', '.join(map(str, frame.columns))}")
        found = self._model.explain(frame.drop(columns=self._keep), **self._options)
        kept = {name: frame[name].to_numpy() for name in self._keep}
        told = found.to_pandas()
        return {**kept, **{str(name): numpy.asarray(told[name]) for name in told.columns}}


def trainable(config: str | os.PathLike[str] | Mapping[str, Any]) -> Callable[[Mapping[str, Any]], None]:
    """A function for Ray Tune: trains with the trial's settings, and reports the AUC and P@k of the selected epoch on validation rows.

    `tune.Tuner(thickset.ray.trainable("run.toml"), param_space={"objective.gap_weight": tune.loguniform(1e-3, 1)})`; a setting is named by its
    path in `run.toml`.
    """
    base = dict(config) if isinstance(config, Mapping) else tomllib.loads(Path(config).read_text())
    # Trials run in folders of their own, so a file is named by its whole path.
    home = Path() if isinstance(config, Mapping) else Path(config).parent
    source = base.get("data", {}).get("source")
    if isinstance(source, str) and (home / source).exists():
        base["data"] = {**base["data"], "source": str((home / source).absolute())}

    def train_one(settings: Mapping[str, Any]) -> None:
        from ray import tune

        import thickset

        run = _with_settings(base, settings)
        trained = thickset.train(run)
        # The last epoch stands in where none was selected.
        epoch = trained.epochs[trained.selected - 1]
        tune.report({"auc": epoch["auc"], "p_at_k": epoch["precision_at_k"], "epoch": trained.selected})

    return train_one


def _with_settings(base: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with settings, named by their paths, put into it."""
    run = {key: _with_settings(value, {}) if isinstance(value, Mapping) else value for key, value in base.items()}
    for path, value in settings.items():
        *outer, last = path.split(".")
        table = run
        for name in outer:
            inner = table.setdefault(name, {})
            if not isinstance(inner, dict):
                raise ThicksetValueError(f"`{path}` lies in `{name}`, which is no table but {inner!r}")
            table = inner
        table[last] = value
    return run


def _ray() -> Any:
    try:
        import ray
    except ImportError as missing:
        raise ThicksetError('Ray is not installed: pip install "thickset[ray]"') from missing
    if not ray.is_initialized():
        ray.init()
    return ray


def _model_bytes(model: Any) -> tuple[str, bytes]:
    """The name and the bytes of a model file."""
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        return path.name, path.read_bytes()
    inner = getattr(model, "model_", model)
    save = getattr(inner, "save", None)
    if save is None:
        raise ThicksetTypeError(f"expected a model, an estimator or the path of a model file, got {type(model).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        save(path)
        return path.name, path.read_bytes()


def _source(data: str | os.PathLike[str], shared: bool = False) -> tuple[str, dict[str, bytes] | None]:
    """The name of the rows and, of a local file or folder, its files under their paths beside that name."""
    name = os.fspath(data)
    path = Path(name)
    if shared:
        if not path.exists():
            raise ThicksetValueError(f"`{name}` must lie where every node sees it, and it does not exist here")
        return str(path.absolute()), None
    if path.is_file():
        return path.name, {path.name: path.read_bytes()}
    if path.is_dir():
        files = {f"{path.absolute().name}/{inner}": content for inner, content in _packed(path).items()}
        return path.absolute().name, files
    return name, None


@dataclass(frozen=True)
class _ParquetFiles:
    """Parquet files of a file system, of which a shard needs some bytes."""

    system: Any
    # The name of the file or folder, and the files: their names beside it, their paths in the file system.
    name: str
    paths: dict[str, str]

    @classmethod
    def of(cls, system: Any, path: str, name: str) -> _ParquetFiles | None:
        """What lies there; None if it is not Parquet all through."""
        if not system.exists(path):
            return None
        inner = [one for one in system.find(path) if one.rstrip("/") != path.rstrip("/")]
        if inner:
            start = path.rstrip("/") + "/"
            paths = {f"{name}/{one.removeprefix(start)}": one for one in inner}
        else:
            paths = {name: path}
        if not all(one.endswith((".parquet", ".pq")) for one in paths):
            return None
        return cls(system, name, paths)

    def of_shard(self, model: tuple[str, bytes], number: int, count: int, arguments: list[str]) -> _SparseFiles:
        """The bytes that a shard reads; all others are left out."""
        found = _SparseFiles(self.name, {name: self._footer(path) for name, path in self.paths.items()})
        with tempfile.TemporaryDirectory(prefix="thickset-") as work:
            folder = Path(work)
            (folder / model[0]).write_bytes(model[1])
            found.write(folder)
            done = _command(*_shard_of_audit(model[0], self.name, number, count), "--list-bytes", *arguments, cwd=folder)
        if done.returncode != 0:
            raise ThicksetError(f"shard {number} of {count}: {done.stderr.strip()}")
        wanted = [(file["path"], start, end) for file in json.loads(done.stdout) for start, end in file["bytes"]]
        contents = self.system.cat_ranges(
            [self.paths[path] for path, _, _ in wanted],
            [start for _, start, _ in wanted],
            [end for _, _, end in wanted],
            on_error="raise",
        )
        for (path, start, _), content in zip(wanted, contents, strict=True):
            found.files[path][1].append((start, content))
        return found

    def _footer(self, path: str) -> tuple[int, list[tuple[int, bytes]]]:
        size = self.system.size(path)
        tail = self.system.cat_file(path, start=max(0, size - 8), end=size)
        if len(tail) < 8 or tail[4:] != b"PAR1":
            raise ThicksetValueError(f"`{path}` does not end like a Parquet file")
        start = max(0, size - 8 - int.from_bytes(tail[:4], "little"))
        return size, [(0, b"PAR1"), (start, self.system.cat_file(path, start=start, end=size))]


@dataclass(frozen=True)
class _SparseFiles:
    """Files of which only some bytes are known: their sizes, and where these bytes begin."""

    name: str
    files: dict[str, tuple[int, list[tuple[int, bytes]]]]

    def write(self, folder: Path) -> None:
        for name, (size, pieces) in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb") as file:
                file.truncate(size)
                for start, content in pieces:
                    file.seek(start)
                    file.write(content)


def _local_parquet(data: str | os.PathLike[str]) -> _ParquetFiles | None:
    """A local file or folder of Parquet, if it is one."""
    path = Path(data)
    if "://" in os.fspath(data) or not path.exists():
        return None
    from fsspec.implementations.local import LocalFileSystem

    absolute = str(path.absolute())
    return _ParquetFiles.of(LocalFileSystem(), absolute, path.absolute().name)


def _shard_of_audit(model: str, data: str, number: int, count: int) -> list[str]:
    return ["audit", "--model", model, "--data", data, "--shard", f"{number}/{count}", "--out", "part"]


def _part(
    model: tuple[str, bytes],
    rows: tuple[str, dict[str, bytes] | None] | _SparseFiles,
    number: int,
    count: int,
    arguments: list[str],
) -> dict[str, bytes]:
    """One shard of an audit, as the files of its folder; runs on a worker."""
    with tempfile.TemporaryDirectory(prefix="thickset-") as work:
        folder = Path(work)
        (folder / model[0]).write_bytes(model[1])
        if isinstance(rows, _SparseFiles):
            rows.write(folder)
            data = rows.name
        else:
            data, files = rows
            if files is not None:
                _unpack(files, folder)
            elif "://" in data:
                data = _fetched(data, folder, model, number, count, arguments)
        done = _command(*_shard_of_audit(model[0], data, number, count), *arguments, cwd=folder)
        if done.returncode != 0:
            raise ThicksetError(f"shard {number} of {count}: {done.stderr.strip()}")
        return _packed(folder / "part")


def _fetched(url: str, folder: Path, model: tuple[str, bytes], number: int, count: int, arguments: list[str]) -> str:
    """The name, in a folder, of a copy of what fsspec finds there, a file or a folder: of Parquet, of what the shard reads."""
    from fsspec.core import url_to_fs

    system, path = url_to_fs(url)
    name: str = path.rstrip("/").rsplit("/", 1)[-1]
    parquet = _ParquetFiles.of(system, path, name)
    if parquet is not None:
        parquet.of_shard(model, number, count, arguments).write(folder)
        return name
    # A folder's files one by one: what a copy of a whole folder is called differs from system to system.
    inner = [one for one in system.find(path) if one != path]
    if not inner:
        system.get_file(path, str(folder / name))
        return name
    for one in inner:
        local = folder / name / one.removeprefix(path.rstrip("/") + "/")
        local.parent.mkdir(parents=True, exist_ok=True)
        system.get_file(one, str(local))
    return name


def _runs(files: dict[str, bytes], number: int, count: int, arguments: list[str]) -> dict[str, bytes]:
    """One run of a sweep, as the files of its folder; runs on a worker."""
    with tempfile.TemporaryDirectory(prefix="thickset-") as work:
        folder = Path(work)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        done = _command("train", "run.toml", "--shard", f"{number}/{count}", "--out", "runs", *arguments, cwd=folder)
        if done.returncode != 0:
            raise ThicksetError(f"run {number} of {count}: {done.stderr.strip()}")
        return _packed(folder / "runs")


def _command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "thickset", *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def _packed(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _unpack(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _each_done(ray: Any, waiting: list[Any], progress: bool | OnProgress, what: str) -> Any:
    """Yields the place and the result of each task as it ends."""
    places = {task: place for place, task in enumerate(waiting)}
    bar = None
    if progress is True:
        from tqdm.auto import tqdm

        bar = tqdm(total=len(waiting), unit=f" {what}")
    left = list(waiting)
    while left:
        done, left = ray.wait(left, num_returns=1)
        for task in done:
            yield places[task], ray.get(task)
            if bar is not None:
                bar.update()
            elif callable(progress):
                progress(len(waiting) - len(left), len(waiting))
    if bar is not None:
        bar.close()
