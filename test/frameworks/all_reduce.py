"""Data-parallel training with PyTorch and gloo; afterwards all ranks must hold the same weights."""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 200, 64
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
torch.manual_seed(0)
patterns = torch.rand(10, 784)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
loss_of = torch.nn.CrossEntropyLoss()
source = torch.Generator().manual_seed(100 + rank)


def batch(size):
    labels = torch.randint(0, 10, (size,), generator=source)
    return patterns[labels] + 2.5 * torch.randn(size, 784, generator=source), labels


for _ in range(STEPS):
    images, labels = batch(BATCH)
    optimizer.zero_grad()
    loss_of(model(images), labels).backward()
    optimizer.step()
weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
least, most = weights.clone(), weights.clone()
dist.all_reduce(least, dist.ReduceOp.MIN)
dist.all_reduce(most, dist.ReduceOp.MAX)
samples = torch.zeros(world)
samples[rank] = STEPS * BATCH
dist.all_reduce(samples)
images, labels = batch(2000)
accuracy = (model.module(images).argmax(1) == labels).float().mean().item()
print("rank %d of %d samples %s spread %g accuracy %.3f" % (
    rank, world, [int(count) for count in samples], (most - least).max().item(), accuracy), flush=True)
dist.destroy_process_group()
