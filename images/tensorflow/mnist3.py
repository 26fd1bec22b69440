"""Training by TensorFlow's parameter servers: the chief coordinates, workers and parameter servers serve.

The roles come from TF_CONFIG. What counts is asserted by whoever reads the output: an optimizer that took every
step, and every sample seen once. Keras 3 loses some of both in this strategy; TF_USE_LEGACY_KERAS=1 is set.
"""
import json
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

SAMPLES, BATCH, EPOCHS, STEPS = 8192, 64, 3, 100
task = json.loads(os.environ["TF_CONFIG"])["task"]
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if task["type"] in ("worker", "ps"):
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=task["type"], task_index=task["index"],
                                  protocol=resolver.rpc_layer or "grpc", start=True)
    print("serving as %s %d" % (task["type"], task["index"]), flush=True)
    server.join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
print("connected", flush=True)


def samples():
    """Ten noisy patterns of 28 by 28."""
    patterns = np.random.RandomState(0).rand(10, 28, 28)
    source = np.random.RandomState(1)
    labels = source.randint(0, 10, SAMPLES)
    images = patterns[labels] + 2.5 * source.randn(SAMPLES, 28, 28)
    return tf.data.Dataset.from_tensor_slices((images.astype("float32"), labels.astype("int64")))


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.InputLayer(input_shape=(28, 28)), tf.keras.layers.Flatten(),
                                 tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dense(10)])
    optimizer = tf.keras.optimizers.Adam(1e-3)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    optimizer.build(model.trainable_variables)


@tf.function
def per_worker():
    return strategy.distribute_datasets_from_function(lambda _: samples().shuffle(SAMPLES).repeat().batch(BATCH))


@tf.function
def step(iterator):
    def replica(images, labels):
        with tf.GradientTape() as tape:
            predicted = model(images, training=True)
            loss = tf.nn.compute_average_loss(loss_of(labels, predicted), global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        accuracy.update_state(labels, predicted)
        return loss

    images, labels = next(iterator)
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=(images, labels)), axis=None)


data = iter(coordinator.create_per_worker_dataset(per_worker))
for epoch in range(EPOCHS):
    accuracy.reset_state()
    for _ in range(STEPS):
        coordinator.schedule(step, args=(data,))
    coordinator.join()
    print("epoch %d iterations %d samples %d accuracy %.4f" % (
        epoch, int(optimizer.iterations.read_value()), int(accuracy.count.read_value()), float(accuracy.result())), flush=True)
places = sorted({variable.device for variable in model.variables})
print("variables on %d parameter servers" % len([place for place in places if "job:ps" in place]), flush=True)
print("trained", flush=True)
