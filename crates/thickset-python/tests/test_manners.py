"""Manners of native code in a Python process: signals, forks, threads, arrays, imports."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import thickset
from thickset import ThicksetClassifier, ThicksetError


def script(text, **more):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def test_importing_brings_in_nothing_heavy():
    done = script(
        """
        import sys, thickset
        thickset.__version__
        heavy = {"numpy", "pandas", "sklearn", "torch", "tqdm"} & set(sys.modules)
        print(sorted(heavy))
        """
    )
    out, error = done.communicate(timeout=60)
    assert out.strip() == "[]", error


ENDLESS = """
    import numpy as np, sys, thickset
    from thickset import ThicksetClassifier
    X = np.random.default_rng(0).uniform(size=(2000, 12)); y = X[:, 0] > 0.5
    net = ThicksetClassifier(max_iter=1, batch_size=128).fit(X, y)
    print("ready", flush=True)
    try:
        {work}
    except KeyboardInterrupt:
        print("stopped", flush=True)
    print(net.predict(X[:3]).shape)
"""


@pytest.mark.parametrize(
    "work",
    [
        "ThicksetClassifier(max_iter=100000).fit(X, y)",
        "net.attack(np.tile(X, (20, 1)), effort='thorough')",
        "net.audit(np.tile(X, (20, 1)), effort='thorough')",
        "net.certify(np.tile(X, (20, 1)), radius=2.0, nodes=1000000, explanation='grad')",
        "net.explain(np.tile(X, (50, 1)), explanation={'kind': 'integrated-gradients', 'steps': 2000})",
    ],
)
def test_ctrl_c_stops_within_a_moment(work):
    child = script(ENDLESS.replace("{work}", work))
    assert child.stdout.readline().strip() == "ready"
    time.sleep(0.7)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert child.stdout.readline().strip() == "stopped"
    took = time.monotonic() - began
    assert child.stdout.readline().strip() == "(3,)"
    _, error = child.communicate(timeout=60)
    assert child.returncode == 0, error
    # A moment is one second; what is tested is that it does not run to its end, which takes minutes. A busy machine is slower.
    assert took < 10, took


def test_the_command_dies_of_ctrl_c():
    child = subprocess.Popen(
        [sys.executable, "-m", "thickset", "bench", "speed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=30) in (-signal.SIGINT, 130)


def _predict(net, X, queue):
    queue.put(net.predict_proba(X).sum())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_computes(rows, net):
    X, _ = rows
    expected = net.predict_proba(X).sum()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_predict, args=(net, X, queue))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(timeout=60)
    assert child.exitcode == 0


def test_other_threads_go_on_meanwhile(rows, net):
    X, _ = rows
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    net.attack(np.tile(X, (2, 1)), effort="quick")
    done.set()
    thread.join()
    assert len(ticks) > 20


def test_threads_of_the_caller_may_ask_at_once(rows, net):
    X, _ = rows
    expected = net.explain(X).values
    found = [None] * 4

    def ask(place):
        found[place] = net.explain(X).values

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        np.testing.assert_array_equal(one, expected)


def test_progress_is_reported_and_its_exceptions_are_passed_on(rows, net):
    X, _ = rows
    heard = []
    net.attack(np.tile(X, (2, 1)), effort="quick", progress=lambda done, total, text: heard.append((done, total)))
    assert heard[0] == (0, 600)
    assert heard == sorted(heard)

    class Enough(Exception):
        pass

    def stop(done, total, text):
        raise Enough

    with pytest.raises(Enough):
        net.attack(X, effort="quick", progress=stop)
    with pytest.raises(Enough):
        thickset.audit(net, X, effort="quick", progress=stop)


def test_arrays_may_be_strided_read_only_and_of_either_precision(rows, net):
    X, _ = rows
    expected = net.predict_proba(X)
    locked = X.copy()
    locked.setflags(write=False)
    np.testing.assert_array_equal(net.predict_proba(locked), expected)
    np.testing.assert_array_equal(net.predict_proba(np.asfortranarray(X)), expected)
    wide = np.repeat(X, 2, axis=1)
    np.testing.assert_array_equal(net.predict_proba(wide[:, ::2]), expected)
    np.testing.assert_array_equal(net.predict_proba(X[::-1])[::-1], expected)
    np.testing.assert_allclose(net.predict_proba(X.astype(np.float32)), expected, atol=1e-5)
    model = net.model_
    encoded = model.encode(X)
    assert encoded.dtype == np.float32
    np.testing.assert_array_equal(model.predict_proba(encoded, encoded=True), expected)
    np.testing.assert_array_equal(model.predict_proba(encoded.astype(np.float64)[:, ::1], encoded=True), expected)


def test_errors_are_ours_and_the_builtin_that_fits(rows, net, tmp_path):
    X, _ = rows
    with pytest.raises(ThicksetError, match="nothing.safetensors"):
        thickset.load(tmp_path / "nothing.safetensors")
    with pytest.raises(FileNotFoundError):
        thickset.load(tmp_path / "nothing.safetensors")
    (tmp_path / "wrong.safetensors").write_bytes(b"no model")
    with pytest.raises(ValueError, match="is not a usable model"):
        thickset.load(tmp_path / "wrong.safetensors")
    with pytest.raises(FileNotFoundError, match="neither a dataset we know nor a file"):
        net.model_.explain("nothing.csv")
    with pytest.raises(ValueError, match="takes rows of 6 features, got 5"):
        net.model_.predict_proba(X[:, :5], encoded=True)
    with pytest.raises(ValueError, match="must be finite"):
        net.model_.predict_proba(np.full((2, 6), np.nan), encoded=True)
    with pytest.raises(ValueError, match="unknown field `stepz`"):
        net.attack(X, stepz=3)
    with pytest.raises(TypeError, match="expected a thickset.Model"):
        thickset.audit(object(), X)
    with pytest.raises(ValueError, match="k must lie in 1..=5, got 6"):
        net.attack(X[:3], k=6)


def test_a_killed_training_is_resumed_to_the_same_bytes(tmp_path, csv):
    run = tmp_path / "run.toml"
    run.write_text(f'name = "long"\n[data]\nsource = "{csv}"\ntarget = "granted"\n[train]\nepochs = 12\nbatch = 16\n')
    child = script(
        f"""
        import thickset
        def heard(done, total, text):
            print(done, flush=True)
        thickset.train({str(run)!r}, out={str(tmp_path / "killed")!r}, progress=heard)
        """
    )
    while int(child.stdout.readline()) < 3:
        pass
    child.kill()
    child.wait()
    resumed = thickset.train(run, out=tmp_path / "killed", resume=True)
    whole = thickset.train(run, out=tmp_path / "whole")
    assert resumed.model.to_bytes() == whole.model.to_bytes()
