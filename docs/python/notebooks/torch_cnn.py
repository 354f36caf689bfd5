# %% [markdown]
# # Audit a PyTorch CNN
#
# The module is exported to ONNX in memory, compared with PyTorch and computed by our engine. Where an operator is missing, PyTorch itself
# answers logits, gradients and Hessian products; `model.backend` says which.

# %%
import torch
from sklearn.datasets import load_digits

import thickset

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
labels = torch.tensor(digits.target)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 8, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(8 * 16, 10),
)
steps = torch.optim.Adam(net.parameters(), 0.01)
for _ in range(60):
    steps.zero_grad()
    torch.nn.functional.cross_entropy(net(images[:1000]), labels[:1000]).backward()
    steps.step()

# %%
model = thickset.from_torch(net, example=images[:50])
print(model, model.backend, model.largest_difference)
assert model.backend == "thickset"

# %%
rows = images[1000:1020].numpy()
audit = thickset.audit(model, rows, labels[1000:1020].numpy(), effort="quick", k=8)
print(audit)
assert audit["accuracy"] > 0.5
