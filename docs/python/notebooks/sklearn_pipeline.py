# %% [markdown]
# # Audit a scikit-learn pipeline
#
# A pipeline that was trained without us: imputer, scaler, one-hot categories and a network of scikit-learn. It is converted in
# memory, compared with `predict_proba`, and then explained, attacked and audited like any model.

# %%
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import thickset

random = np.random.default_rng(1)
rows = 500
frame = pd.DataFrame(
    {
        "income": random.lognormal(3.3, 0.5, rows).round(1),
        "debt": random.lognormal(2.0, 0.8, rows).round(1),
        "age": random.integers(19, 75, rows).astype(float),
        "job": random.choice(["clerk", "nurse", "cook", "driver"], rows),
    }
)
frame.loc[::9, "debt"] = np.nan
score = frame["income"] / 30 - frame["debt"].fillna(7) / 12 + 0.3 * (frame["job"] == "nurse") + random.normal(0, 0.2, rows)
default = np.where(score > 0.4, "repaid", "default")

encode = ColumnTransformer(
    [
        ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["income", "debt", "age"]),
        ("categories", OneHotEncoder(handle_unknown="ignore"), ["job"]),
    ]
)
pipeline = make_pipeline(encode, MLPClassifier((16,), max_iter=120, random_state=0)).fit(frame[:400], default[:400])

# %% [markdown]
# The same probabilities to five digits, or an error that names the rows.

# %%
model = thickset.from_sklearn(pipeline, frame[:400])
print(model, model.largest_difference)
assert model.largest_difference < 1e-4

# %% [markdown]
# Reasons in the data's own columns, though the network sees encoded ones.

# %%
test = frame[400:]
found = model.reasons(test, adverse="default", k=2, effort="quick")
print(found.texts[:3])

# %%
audit = thickset.audit(model, test[:40], default[400:440], effort="quick", require=["accuracy>=0.7"])
print(audit)
assert audit.passed
