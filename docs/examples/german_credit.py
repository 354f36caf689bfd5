"""A scikit-learn pipeline on German credit, as somebody else might have it, exported to ONNX for the README's example.

python german_credit.py german.data: writes train.csv, test.csv, credit.onnx and probabilities.csv (scikit-learn's own, of test.csv).
Made with scikit-learn 1.9.1, skl2onnx 1.20.0, pandas 3.
"""

import sys

import pandas as pd
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

NAMES = """status duration history purpose amount savings employment installment_rate personal_status other_debtors residence_since
property age other_installments housing existing_credits job dependents telephone foreign_worker risk""".split()
# The codes that the example shows, as the codebook has them.
WORDS = {
    "status": {"A11": "below 0 DM", "A12": "0 to 200 DM", "A13": "200 DM and more", "A14": "no account"},
    "savings": {"A61": "below 100 DM", "A62": "100 to 500 DM", "A63": "500 to 1000 DM", "A64": "1000 DM and more", "A65": "none or unknown"},
    "housing": {"A151": "rent", "A152": "own", "A153": "for free"},
    "history": {"A30": "none", "A31": "all paid here", "A32": "paid till now", "A33": "delay", "A34": "critical"},
    "purpose": {"A40": "new car", "A41": "used car", "A42": "furniture", "A43": "television", "A44": "appliances", "A45": "repairs",
                "A46": "education", "A48": "retraining", "A49": "business", "A410": "others"},
}

rows = pd.read_csv(sys.argv[1], sep=" ", header=None, names=NAMES).replace(WORDS)
rows["risk"] = rows["risk"].map({1: "good", 2: "bad"})
numbers = rows.select_dtypes("number").columns
rows[numbers] = rows[numbers].astype("float32")
rows = rows[[*numbers, *rows.columns.difference([*numbers, "risk"], sort=False), "risk"]]
train, test = train_test_split(rows, test_size=0.3, random_state=0, stratify=rows["risk"])
train.to_csv("train.csv", index=False)
test.to_csv("test.csv", index=False)

columns = ColumnTransformer([
    ("numbers", StandardScaler(), make_column_selector(dtype_include="number")),
    ("texts", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
])
model = make_pipeline(columns, MLPClassifier((32, 16), alpha=1.0, max_iter=300, random_state=0))
x, y = train.drop(columns="risk"), train["risk"]
model.fit(x, y)
with open("credit.onnx", "wb") as file:
    file.write(to_onnx(model, x[:1], options={"zipmap": False}).SerializeToString())
probabilities = model.predict_proba(test.drop(columns="risk"))
pd.DataFrame(probabilities, columns=model.classes_).to_csv("probabilities.csv", index=False)
print(f"scikit-learn's AUC on test.csv {roc_auc_score(test['risk'] == 'good', probabilities[:, 1]):.4f}")
