"""Data-parallel training with PaddlePaddle on CPUs, started by paddle.distributed.launch in each pod."""
import hashlib

import numpy as np
import paddle
import paddle.distributed as dist

STEPS, BATCH = 60, 64
dist.init_parallel_env()
rank, world = dist.get_rank(), dist.get_world_size()
paddle.seed(0)
patterns = np.random.RandomState(0).rand(10, 784).astype("float32")
source = np.random.RandomState(100 + rank)
model = paddle.nn.Linear(784, 10)
optimizer = paddle.optimizer.SGD(0.02, parameters=model.parameters())
for one in model.parameters():
    dist.broadcast(one, 0)
losses = []
for _ in range(STEPS):
    labels = source.randint(0, 10, BATCH)
    images = patterns[labels] + source.randn(BATCH, 784).astype("float32")
    loss = paddle.nn.functional.cross_entropy(model(paddle.to_tensor(images)), paddle.to_tensor(labels))
    loss.backward()
    for one in model.parameters():
        dist.all_reduce(one.grad)
        one.grad.set_value(one.grad / world)
    optimizer.step()
    optimizer.clear_grad()
    losses.append(float(loss))
seen = paddle.to_tensor([STEPS * BATCH])
dist.all_reduce(seen)
whole = b"".join(one.numpy().tobytes() for one in model.parameters())
print("rank %d of %d samples %d loss %.4f to %.4f weights %s" % (
    rank, world, seen.item(), losses[0], sum(losses[-5:]) / 5, hashlib.sha256(whole).hexdigest()[:16]), flush=True)
