"""Training with Hugging Face's accelerate on CPUs, which finds its ranks in the variables of a PyTorchJob."""
import hashlib

import torch
from accelerate import Accelerator

BATCH, SAMPLES, EPOCHS = 32, 1920, 2
accelerator = Accelerator(cpu=True)
torch.set_num_threads(1)
torch.manual_seed(0)
patterns = torch.rand(10, 784)
labels = torch.randint(0, 10, (SAMPLES,))
data = torch.utils.data.TensorDataset(patterns[labels] + torch.randn(SAMPLES, 784), labels)
model = torch.nn.Linear(784, 10)
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), 0.02), torch.utils.data.DataLoader(data, BATCH, shuffle=True))
seen, losses = 0, []
for _ in range(EPOCHS):
    for images, truth in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), truth)
        accelerator.backward(loss)
        optimizer.step()
        seen += len(truth)
        losses.append(loss.item())
counts = accelerator.gather(torch.tensor([seen])).tolist()
whole = b"".join(one.detach().numpy().tobytes() for one in model.parameters())
print("rank %d of %d samples %s loss %.4f to %.4f weights %s" % (
    accelerator.process_index, accelerator.num_processes, counts, losses[0], sum(losses[-5:]) / 5,
    hashlib.sha256(whole).hexdigest()[:16]), flush=True)
