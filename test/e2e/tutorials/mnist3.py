import os
import gzip
import numpy as np
import json
import tensorflow as tf
import logging

# Enable GPU memory growth
# 避免cuda驱动耗尽GPU显存的限制
gpus = tf.config.experimental.list_physical_devices('GPU')
if gpus:
  try:
    for gpu in gpus:
      tf.config.experimental.set_memory_growth(gpu, True)
  except RuntimeError as e:
    print(e)

from tensorflow.keras.layers import Dense, Flatten
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam
from tensorflow.keras.losses import SparseCategoricalCrossentropy
from tensorflow.keras.metrics import SparseCategoricalAccuracy

logging.basicConfig(level=logging.INFO,
                    format='%(asctime)s %(levelname)s: %(message)s',
                    handlers=[
                        logging.FileHandler("mnist-log.txt"),
                        logging.StreamHandler()
                    ])

#获取tensorflow分布式训练集群配置TF_CONFIG
TF_CONFIG = json.loads(os.environ.get('TF_CONFIG', '{}'))
logging.info(f"TF_CONFIG: {TF_CONFIG}")

cluster_resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
logging.info(f"Cluster Resolver: {cluster_resolver}")

#如果容器收到的TF_CONFIG指定他的角色为worker或者ps，加入集群
if cluster_resolver.task_type in ("worker", "ps"):
    server = tf.distribute.Server(cluster_resolver.cluster_spec(),
                                  job_name=cluster_resolver.task_type,
                                  task_index=cluster_resolver.task_id,
                                  protocol="grpc",
                                  start=True)
    server.join()

#如果容器收到的TF_CONFIG指定他的角色为chief，创建集群，带领进行训练
elif cluster_resolver.task_type == "chief":
    # Use ParameterServerStrategy for the 'chief' role
    strategy = tf.distribute.experimental.ParameterServerStrategy(cluster_resolver)
    logging.info("ParameterServerStrategy is initialized.")

    # Define the model training and evaluation inside the strategy's scope
    with strategy.scope():
        # 导入MNIST训练数据
        def load_mnist_data(data_directory):
            logging.info("Loading MNIST data from gzipped files.")
            files = [
                'train-images-idx3-ubyte.gz', 'train-labels-idx1-ubyte.gz',
                't10k-images-idx3-ubyte.gz', 't10k-labels-idx1-ubyte.gz'
            ]
            paths = [os.path.join(data_directory, file_name) for file_name in files]

            with gzip.open(paths[0], 'rb') as imgpath:
                x_train = np.frombuffer(imgpath.read(), np.uint8, offset=16).reshape(-1, 28, 28)
            with gzip.open(paths[1], 'rb') as lblpath:
                y_train = np.frombuffer(lblpath.read(), np.uint8, offset=8)
            return x_train, y_train

        # 训练
        def make_datasets():
            x_train, y_train = load_mnist_data('./mnist-data')
            x_train = x_train / 255.0
            return tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(64).repeat()

        model = Sequential([
            Flatten(input_shape=(28, 28)),
            Dense(128, activation='relu'),
            Dense(10)
        ])

        model.compile(optimizer=Adam(),
                      loss=SparseCategoricalCrossentropy(from_logits=True),
                      metrics=['accuracy'])

        train_dataset = make_datasets()

        # Training steps need to be defined explicitly when using ClusterCoordinator
        steps_per_epoch = 60000 // 64  # Number of samples in the dataset / batch size

        # The model.fit call remains the same
        model.fit(train_dataset, epochs=5, steps_per_epoch=steps_per_epoch)

else:
    logging.error("Task type not recognized.")

logging.info("Script execution completed.")
