"""Learns to tell ten noisy patterns apart, as a first exercise does with digits; without anything to download."""
import numpy as np

random = np.random.default_rng(1)
patterns = random.random((10, 64)) < 0.3


def draw(count):
    labels = random.integers(0, 10, count)
    return patterns[labels] + random.normal(0, 0.2, (count, 64)), labels


inputs, labels = draw(2000)
weights = np.zeros((64, 10))
for epoch in range(1, 6):
    for at in range(0, len(inputs), 64):
        batch, wanted = inputs[at:at + 64], np.eye(10)[labels[at:at + 64]]
        scores = np.exp(batch @ weights)
        weights += 0.1 * batch.T @ (wanted - scores / scores.sum(1, keepdims=True)) / len(batch)
    inputs_seen, truth = draw(500)
    accuracy = 100 * np.mean((inputs_seen @ weights).argmax(1) == truth)
    print("epoch %d accuracy: %.1f %%" % (epoch, accuracy), flush=True)
with open("mnist.txt", "w") as out:
    out.write("accuracy: %.1f\n" % accuracy)
