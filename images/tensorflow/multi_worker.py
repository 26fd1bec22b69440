"""Workers that mirror one model (MultiWorkerMirroredStrategy): each step is one step of all, and all end with the same
weights. The roles come from TF_CONFIG. TF_USE_LEGACY_KERAS=1 is set: Keras 3 knows no strategy of many workers."""
import json
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

BATCH, EPOCHS, STEPS = 64, 3, 50
strategy = tf.distribute.MultiWorkerMirroredStrategy()
task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "worker", "index": 0})
patterns = np.random.RandomState(0).rand(10, 28, 28)


def samples(context):
    source = np.random.RandomState(10 + context.input_pipeline_id)
    labels = source.randint(0, 10, 4096)
    images = (patterns[labels] + 1.0 * source.randn(4096, 28, 28)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(BATCH)


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Flatten(input_shape=(28, 28)),
                                 tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.05), metrics=["accuracy"],
                  loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(strategy.distribute_datasets_from_function(samples), epochs=EPOCHS, steps_per_epoch=STEPS, verbose=0)
weights = sum(float(np.abs(value).sum()) for value in model.get_weights())
print("%s %d replicas %d iterations %d loss %s weights %.10f" % (
    task["type"], task["index"], strategy.num_replicas_in_sync, int(model.optimizer.iterations.numpy()),
    ",".join("%.4f" % one for one in history.history["loss"]), weights), flush=True)
