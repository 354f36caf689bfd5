# %% [markdown]
# # Audit boosted trees and their SHAP values
#
# Two functions, no gradients: what the model predicts, and what is handed out as its explanation.

# %%
import shap
import xgboost
from sklearn.datasets import load_breast_cancer

import thickset

X, y = load_breast_cancer(return_X_y=True)
booster = xgboost.XGBClassifier(n_estimators=30, max_depth=3).fit(X[:400], y[:400])
trees = shap.TreeExplainer(booster)

# %%
rows, labels = X[400:415], y[400:415]
audit = thickset.audit(predict=booster.predict_proba, explain=trees.shap_values, X=rows, y=labels, k=5, radius=0.2)
print(audit)
assert abs(audit["accuracy"] - booster.score(rows, labels)) < 1e-12
assert 0 <= audit["p_at_k"] <= audit["noise_p_at_k"] <= 1
