# %% [markdown]
# # Audit a scikit-learn pipeline
#
# The pipeline that is in production stays as it is: it is read through ONNX in memory, compared with `predict_proba`, and audited.

# %%
from sklearn.datasets import load_breast_cancer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thickset

X, y = load_breast_cancer(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=60, random_state=0)).fit(X, y)

# %%
model = thickset.from_sklearn(pipeline, X)
print(model, model.backend)

# %%
audit = thickset.audit(model, X[:60], y[:60], effort="quick", k=8, radius=0.3)
print(audit)
assert 0 <= audit["p_at_k"] <= 1
