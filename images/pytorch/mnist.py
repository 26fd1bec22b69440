"""Digits for PyTorch, in one process or in many: the arguments of the examples' mnist.py, on patterns made here, since
pods need not reach the outside. All ranks end with the same weights."""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
for name, kind, usual in (("--batch-size", int, 64), ("--test-batch-size", int, 1000), ("--epochs", int, 10),
                          ("--lr", float, 0.01), ("--momentum", float, 0.5), ("--seed", int, 1),
                          ("--log-interval", int, 10), ("--log-path", str, ""), ("--dir", str, "logs"),
                          ("--backend", str, "gloo"), ("--logger", str, "standard")):
    parser.add_argument(name, type=kind, default=usual)
for name in ("--no-cuda", "--save-model"):
    parser.add_argument(name, action="store_true")
arguments, _ = parser.parse_known_args()

TRAIN, TEST = 6000, 1000
many = int(os.environ.get("WORLD_SIZE", "1")) > 1
if many:
    dist.init_process_group("gloo" if not torch.cuda.is_available() else arguments.backend)
rank, world = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
device = torch.device("cuda" if torch.cuda.is_available() and not arguments.no_cuda else "cpu")
torch.set_num_threads(1)
torch.manual_seed(arguments.seed)
patterns = torch.rand(10, 1, 28, 28)


def digits(seed, count):
    source = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=source)
    return patterns[labels] + 0.5 * torch.randn(count, 1, 28, 28, generator=source), labels


model = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 5, 2), torch.nn.ReLU(), torch.nn.Flatten(),
                            torch.nn.Linear(8 * 144, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(device)
if many:
    model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), arguments.lr, arguments.momentum)
loss_of = torch.nn.CrossEntropyLoss()
images, labels = digits(100 + rank, TRAIN // world)
log = open(arguments.log_path, "a") if arguments.log_path else None


def say(text):
    print(text, flush=True)
    if log:
        print(text, file=log, flush=True)


seen = 0
for epoch in range(1, arguments.epochs + 1):
    for step, at in enumerate(range(0, len(images), arguments.batch_size)):
        optimizer.zero_grad()
        batch = labels[at:at + arguments.batch_size].to(device)
        loss = loss_of(model(images[at:at + arguments.batch_size].to(device)), batch)
        loss.backward()
        optimizer.step()
        seen += len(batch)
        if step % arguments.log_interval == 0:
            say("Train Epoch: %d [%d/%d (%.0f%%)]\tloss=%.4f" % (
                epoch, at, len(images), 100.0 * at / len(images), loss.item()))
    with torch.no_grad():
        test, truth = digits(7, TEST)
        accuracy = (model(test.to(device)).argmax(1).cpu() == truth).float().mean().item()
    say("epoch %d accuracy=%.4f" % (epoch, accuracy))
if many:
    weights = torch.cat([one.detach().flatten() for one in model.parameters()])
    least, most = weights.clone(), weights.clone()
    dist.all_reduce(least, dist.ReduceOp.MIN)
    dist.all_reduce(most, dist.ReduceOp.MAX)
    say("rank %d of %d samples %d spread %g" % (rank, world, seen, (most - least).max().item()))
    dist.destroy_process_group()
if arguments.save_model and rank == 0:
    torch.save(model.state_dict(), "mnist_cnn.pt")
