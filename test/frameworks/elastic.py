"""Elastic training under torchrun: the model is kept after every step, and goes on from there when workers change."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, KEPT = 60, os.path.join(sys.argv[1], "kept.pt")
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
torch.manual_seed(0)
patterns = torch.rand(10, 784)
plain = torch.nn.Linear(784, 10)
optimizer = torch.optim.SGD(plain.parameters(), 0.05)
begun = 0
if os.path.exists(KEPT):
    kept = torch.load(KEPT)
    plain.load_state_dict(kept["model"])
    begun = kept["step"]
begins = torch.tensor([begun])
dist.broadcast(begins, 0)
begun = int(begins)
print("rank %d of %d begins at step %d, attempt %s" % (
    rank, world, begun, os.environ.get("TORCHELASTIC_RESTART_COUNT")), flush=True)
model = DistributedDataParallel(plain)
source = torch.Generator().manual_seed(1000 * begun + rank)
for step in range(begun, STEPS):
    labels = torch.randint(0, 10, (64,), generator=source)
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(patterns[labels] + torch.randn(64, 784, generator=source)), labels)
    loss.backward()
    optimizer.step()
    if rank == 0:
        torch.save({"model": plain.state_dict(), "step": step + 1}, KEPT + ".new")
        os.rename(KEPT + ".new", KEPT)
        print("step %d of %d loss %.4f world %d" % (step + 1, STEPS, loss.item(), world), flush=True)
    time.sleep(0.3)
weights = torch.cat([one.detach().flatten() for one in model.parameters()])
least, most = weights.clone(), weights.clone()
dist.all_reduce(least, dist.ReduceOp.MIN)
dist.all_reduce(most, dist.ReduceOp.MAX)
print("rank %d of %d done steps %d spread %g" % (rank, world, STEPS, (most - least).max().item()), flush=True)
dist.destroy_process_group()
