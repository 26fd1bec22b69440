"""Digits with summaries for TensorBoard, in the place and with the arguments of the examples' program, on patterns made
here. Each worker trains by itself and writes below --log_dir."""
import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

parser = argparse.ArgumentParser()
for name, kind, usual in (("--max_steps", int, 200), ("--learning_rate", float, 0.001), ("--batch_size", int, 100),
                          ("--dropout", float, 0.9), ("--data_dir", str, ""),
                          ("--log_dir", str, "/tmp/tensorflow/mnist/logs/mnist_with_summaries")):
    parser.add_argument(name, type=kind, default=usual)
parser.add_argument("--fake_data", nargs="?", const=True, default=False)
arguments, _ = parser.parse_known_args()

patterns = np.random.RandomState(0).rand(10, 784)
source = np.random.RandomState(1)


def digits(count):
    labels = source.randint(0, 10, count)
    return (patterns[labels] + 0.5 * source.randn(count, 784)).astype("float32"), labels


model = tf.keras.Sequential([tf.keras.layers.Input((784,)), tf.keras.layers.Dense(64, activation="relu"),
                             tf.keras.layers.Dropout(1 - arguments.dropout), tf.keras.layers.Dense(10)])
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(arguments.learning_rate)
train, test = (tf.summary.create_file_writer(os.path.join(arguments.log_dir, name)) for name in ("train", "test"))
for step in range(arguments.max_steps):
    if step % 10 == 0:
        images, labels = digits(1000)
        accuracy = float(np.mean(np.argmax(model(images), 1) == labels))
        with test.as_default():
            tf.summary.scalar("accuracy", accuracy, step)
        print("Accuracy at step %d: %.4f" % (step, accuracy), flush=True)
    images, labels = digits(arguments.batch_size)
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(images, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    with train.as_default():
        tf.summary.scalar("cross_entropy", loss, step)
