"""What several tests share: rows, a data frame, and models that are trained once."""

from __future__ import annotations

import numpy as np
import pytest

from thickset import ThicksetClassifier


@pytest.fixture(scope="session")
def rows():
    """300 rows of six numbers, and the classes that the first three decide."""
    X = np.random.default_rng(0).uniform(size=(300, 6))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0.75, "yes", "no")
    return X, y


@pytest.fixture(scope="session")
def frame(rows):
    """The same as a data frame with a category, a flag and missing values."""
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=["income", "age", "debt", "rooms", "cars", "pets"])
    frame["job"] = pandas.Categorical(np.array(["clerk", "nurse", "cook"])[(X[:, 3] * 3).astype(int)])
    frame["owner"] = X[:, 4] > 0.5
    frame.loc[::7, "debt"] = np.nan
    frame.loc[::11, "job"] = None
    return frame, pandas.Series(y, name="granted")


@pytest.fixture(scope="session")
def net(rows):
    """A small estimator, fitted."""
    X, y = rows
    return ThicksetClassifier(max_iter=25, hidden=(16, 8)).fit(X, y)


@pytest.fixture(scope="session")
def csv(frame, tmp_path_factory):
    """The data frame as a file, for the command."""
    frame, labels = frame
    path = tmp_path_factory.mktemp("data") / "loans.csv"
    frame.assign(granted=labels).to_csv(path, index=False)
    return path
