"""Training in the style of TensorFlow 1, as the image of the tutorial does: each worker has a graph of its own, the
variables live on the parameter server. Workers begin together and stop when the shared step counter says so."""
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()
BATCH, STEPS = 100, 400
config = json.loads(os.environ["TF_CONFIG"])
role, index = config["task"]["type"], int(config["task"]["index"])
cluster = tf.train.ClusterSpec(config["cluster"])
server = tf.train.Server(cluster, job_name=role, task_index=index)
print("serving as %s %d" % (role, index), flush=True)
if role == "ps":
    server.join()

# Counts of resource variables are exact; of the older kind two workers' steps can become one.
tf.get_variable_scope().set_use_resource(True)
with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    seen = tf.get_variable("seen", [], tf.int64, tf.zeros_initializer(), trainable=False)
    present = tf.get_variable("present", [], tf.int32, tf.zeros_initializer(), trainable=False)
    weights = tf.get_variable("weights", [784, 10], initializer=tf.zeros_initializer())
    bias = tf.get_variable("bias", [10], initializer=tf.zeros_initializer())
    images, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    scores = tf.matmul(images, weights) + bias
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
    right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(scores, 1), labels), tf.float32))
    counted = seen.assign_add(tf.size(labels, out_type=tf.int64), use_locking=True, read_value=False)
    arrived = present.assign_add(1, use_locking=True, read_value=False)
    with tf.control_dependencies([counted]):
        train = tf.train.GradientDescentOptimizer(0.1, use_locking=True).minimize(loss, global_step=step)

patterns = np.random.RandomState(0).rand(10, 784)
source = np.random.RandomState(10 + index)


def batch(size):
    chosen = source.randint(0, 10, size)
    return {images: patterns[chosen] + 0.5 * source.randn(size, 784), labels: chosen}


# A worker that has made all the steps may be gone before another has begun: sessions do not span other workers.
alone = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
supervisor = tf.train.Supervisor(is_chief=index == 0, recovery_wait_secs=1, global_step=step)
steps = 0
with supervisor.prepare_or_wait_for_session(server.target, config=alone) as session:
    session.run(arrived)
    while session.run(present) < len(config["cluster"]["worker"]):
        time.sleep(0.05)
    while session.run(step) < STEPS:
        session.run(train, batch(BATCH))
        steps += 1
    at, total, accuracy = session.run([step, seen, right], batch(2000))
print("worker %d made %d steps; iterations %d samples %d accuracy %.4f" % (index, steps, at, total, accuracy), flush=True)
print("trained", flush=True)
