# %% [markdown]
# # Credit: train a network, give reasons, say how far they hold
#
# A network that decides on loans, its reasons, and an audit of them. The data are made here; yours is a data frame as well.

# %%
import numpy as np
import pandas as pd

import thickset
from thickset import ThicksetClassifier

random = np.random.default_rng(0)
rows = 600
frame = pd.DataFrame(
    {
        "income": random.lognormal(3.3, 0.5, rows).round(1),
        "debt": random.lognormal(2.0, 0.8, rows).round(1),
        "age": random.integers(19, 75, rows),
        "years_employed": random.integers(0, 30, rows),
        "job": random.choice(["clerk", "nurse", "cook", "driver"], rows),
        "owner": random.random(rows) < 0.4,
    }
)
frame.loc[::13, "years_employed"] = None
score = frame["income"] / 30 - frame["debt"] / 12 + 0.6 * frame["owner"] + random.normal(0, 0.3, rows)
granted = pd.Series(np.where(score > 0.4, "yes", "no"), name="granted")
train, test = frame[:450], frame[450:]

# %% [markdown]
# Age cannot be changed by the person, so attacks leave it.

# %%
net = ThicksetClassifier(k=3, max_iter=10, immutable=["age"]).fit(train, granted[:450])
print(f"accuracy {net.score(test, granted[450:]):.3f}")

# %% [markdown]
# Why were the first people refused or granted? In a notebook, `why[0]` is a bar chart.

# %%
why = net.explain(test)
print(why.top(3)[:3])
assert "<svg" in why[0]._repr_html_()

# %% [markdown]
# What are people told who are refused? Reasons are in their own values, add up to the score, and come with how far they hold: here
# under an error of 5% in every number. `found.save("letters")` writes a page to print for each.

# %%
found = net.reasons(test, adverse="no", k=3, effort="quick", threat={"error": {"*": "5%"}})
print(found)
print(found.texts[0])
table = found.to_pandas()
print(table[["row", "rank", "text", "contribution", "holds"]].head())
for row in found.rows:
    assert abs(sum(row["contributions"]) - (row["score"] - row["reference_score"])) < 1e-3

# %% [markdown]
# How much of it survives a small change, and what is the smallest change that matters?

# %%
attacks = net.attack(test[:30], effort="quick", radius=0.2)
print(f"{attacks.p_at_k:.2f} of the top {attacks.k} survive; the worst row changed by {attacks.changes(int(attacks.precision.argmin()))}")
audit = thickset.audit(net, test, granted[450:], effort="quick", radius=0.2, require="auc>=0.7")
print(audit)
assert audit.passed
