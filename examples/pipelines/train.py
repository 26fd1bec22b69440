"""Three steps: data are made, a line is fitted, the result is judged.

python3 train.py writes pipeline.yaml; python3 train.py http://127.0.0.1:8888 runs it there. Needs the package kfp.
"""
import sys

from kfp import Client, compiler, dsl
from kfp.dsl import Dataset, Input, Output


@dsl.component(base_image="python:3.11")
def gather(rows: int, data: Output[Dataset]):
    import random
    with open(data.path, "w") as file:
        for _ in range(rows):
            x = random.random()
            file.write("%f %f\n" % (x, 3 * x + 1 + random.gauss(0, 0.01)))


@dsl.component(base_image="python:3.11")
def fit(data: Input[Dataset]) -> float:
    pairs = [tuple(map(float, line.split())) for line in open(data.path)]
    mean_x, mean_y = (sum(column) / len(pairs) for column in zip(*pairs))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in pairs) / sum((x - mean_x) ** 2 for x, _ in pairs)
    print("slope %.2f" % slope)
    return slope


@dsl.component(base_image="python:3.11")
def judge(slope: float):
    assert 2.9 < slope < 3.1, slope
    print("good")


@dsl.pipeline(name="fit-a-line")
def fit_a_line(rows: int = 100):
    judge(slope=fit(data=gather(rows=rows).outputs["data"]).output)


if __name__ == "__main__":
    if sys.argv[1:]:
        client = Client(host=sys.argv[1])
        run = client.create_run_from_pipeline_func(fit_a_line, arguments={"rows": 200})
        print(client.wait_for_run_completion(run.run_id, timeout=600).state)
    else:
        compiler.Compiler().compile(fit_a_line, "pipeline.yaml")
