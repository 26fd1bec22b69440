"""Distributed boosting with XGBoost: the first rank tracks the others, all end with the same model."""
import hashlib
import os
import socket
import time

import numpy as np
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker

ROWS = 4000
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
name, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
tracker = None
deadline = time.time() + 60
while True:  # the name is there once the pod has an address
    try:
        address = socket.gethostbyname(name)
        if rank == 0:
            tracker = RabitTracker(n_workers=world, host_ip=address, port=port, sortby="task")
            tracker.start()
        else:
            socket.create_connection((address, port), 2).close()
        break
    except OSError:
        if time.time() > deadline:
            raise
        time.sleep(0.2)


def rows(seed):
    source = np.random.RandomState(seed)
    points = source.randn(ROWS, 20)
    return points, ((points[:, 0] + points[:, 1] * points[:, 2] + 0.3 * source.randn(ROWS)) > 0).astype(int)


with collective.CommunicatorContext(dmlc_tracker_uri=address, dmlc_tracker_port=port, dmlc_task_id=str(rank)):
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 4, "nthread": 1, "tree_method": "hist"},
                          xgboost.DMatrix(*rows(10 + rank)), 20)
    total = collective.allreduce(np.array([float(ROWS)]), collective.Op.SUM)[0]
    digest = float(int(hashlib.sha256("".join(model.get_dump()).encode()).hexdigest()[:12], 16))
    same = (collective.allreduce(np.array([digest]), collective.Op.MIN)[0] ==
            collective.allreduce(np.array([digest]), collective.Op.MAX)[0])
    points, truth = rows(999)
    accuracy = ((model.predict(xgboost.DMatrix(points)) > 0.5) == truth).mean()
    print("rank %d of %d rows %d same %s accuracy %.3f" % (rank, world, total, same, accuracy), flush=True)
if tracker:
    tracker.wait_for(timeout=60)
