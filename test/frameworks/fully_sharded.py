"""Fully sharded training (FSDP) on CPUs: each rank holds a part of the weights; gathered, they are the same for all."""
import hashlib

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

STEPS, BATCH = 60, 64
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
torch.manual_seed(0)
patterns = torch.rand(10, 784)
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (world,))
model = torch.nn.Sequential(torch.nn.Linear(784, 96), torch.nn.ReLU(), torch.nn.Linear(96, 12))
for layer in (model[0], model[2], model):
    fully_shard(layer, mesh=mesh)
held = sum(one.to_local().numel() for one in model.parameters())
total = sum(one.numel() for one in model.parameters())
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
source = torch.Generator().manual_seed(100 + rank)
losses = []
for _ in range(STEPS):
    labels = torch.randint(0, 10, (BATCH,), generator=source)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(patterns[labels] + torch.randn(BATCH, 784, generator=source)), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
whole = b"".join(one.full_tensor().detach().numpy().tobytes() for one in model.parameters())
print("rank %d of %d holds %d of %d steps %d loss %.4f to %.4f weights %s" % (
    rank, world, held, total, STEPS, losses[0], sum(losses[-5:]) / 5, hashlib.sha256(whole).hexdigest()[:16]), flush=True)
dist.destroy_process_group()
