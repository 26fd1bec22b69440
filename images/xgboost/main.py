"""Distributed boosting of the iris flowers: the first rank tracks the others, each has its part of the rows, all end with
the same model. The arguments are those of the examples' main.py; a model is stored in a local file only."""
import argparse
import hashlib
import os
import socket
import time

import numpy as np
import xgboost
from sklearn.datasets import load_iris
from xgboost import collective
from xgboost.tracker import RabitTracker

parser = argparse.ArgumentParser()
for option, kind, usual in (("--job_type", str, "Train"), ("--xgboost_parameter", str, "objective:multi:softprob,num_class:3"),
                            ("--n_estimators", int, 10), ("--learning_rate", float, 0.1),
                            ("--early_stopping_rounds", int, 5), ("--model_path", str, ""),
                            ("--model_storage_type", str, "local"), ("--oss_param", str, "")):
    parser.add_argument(option, type=kind, default=usual)
arguments = parser.parse_args()
if arguments.model_storage_type != "local":
    parser.error("--model_storage_type=%s: only local is there" % arguments.model_storage_type)
points, kinds = load_iris(return_X_y=True)
if arguments.job_type == "Predict":
    model = xgboost.Booster(model_file=arguments.model_path)
    right = (model.predict(xgboost.DMatrix(points)).argmax(1) == kinds).mean()
    print("predicted %d rows accuracy %.3f" % (len(points), right), flush=True)
    raise SystemExit(0)

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

parameters = dict(one.split(":", 1) for one in arguments.xgboost_parameter.split(",") if one)
parameters.update({"eta": arguments.learning_rate, "nthread": 1, "tree_method": "hist"})
with collective.CommunicatorContext(dmlc_tracker_uri=address, dmlc_tracker_port=port, dmlc_task_id=str(rank)):
    mine = slice(rank, None, world)
    model = xgboost.train(parameters, xgboost.DMatrix(points[mine], kinds[mine]), arguments.n_estimators)
    total = collective.allreduce(np.array([float(len(kinds[mine]))]), collective.Op.SUM)[0]
    digest = float(int(hashlib.sha256("".join(model.get_dump()).encode()).hexdigest()[:12], 16))
    same = (collective.allreduce(np.array([digest]), collective.Op.MIN)[0] ==
            collective.allreduce(np.array([digest]), collective.Op.MAX)[0])
    accuracy = (model.predict(xgboost.DMatrix(points)).argmax(1) == kinds).mean()
    print("rank %d of %d rows %d same %s accuracy %.3f" % (rank, world, total, same, accuracy), flush=True)
if rank == 0 and arguments.model_path:
    model.save_model(arguments.model_path + ("" if "." in os.path.basename(arguments.model_path) else ".json"))
if tracker:
    tracker.wait_for(timeout=60)
