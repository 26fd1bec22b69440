"""What the tutorials' images would bring, in plain Python: training with parameter servers by TF_CONFIG, as the
tutorials describe it (the cluster, the task, servers that join for ever), or with a master and its workers by
MASTER_ADDR and RANK. The model is a line through points; gradients travel as JSON lines. The master or worker 0
puts the model into the bucket of AWS_ENDPOINT_URL, if there is one."""
import hashlib
import hmac
import json
import os
import random
import socket
import socketserver
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

STEPS = int(os.environ.get("STEPS", "60"))


def serve(port, peers):
    """Holds the weights; a step is taken when every peer has sent its gradient."""
    weights, sums, seen, turn = [0.0, 0.0], [0.0, 0.0], [0], threading.Condition()

    class Peer(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                with turn:
                    step = seen[0] // peers
                    for i, part in enumerate(json.loads(line)):
                        sums[i] += part
                    seen[0] += 1
                    if seen[0] % peers == 0:
                        for i in (0, 1):
                            weights[i] -= 0.5 * sums[i] / peers
                            sums[i] = 0.0
                        turn.notify_all()
                    while seen[0] // peers == step:
                        turn.wait()
                    self.wfile.write(json.dumps(weights).encode() + b"\n")

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address, daemon_threads = True, True
    return Server(("", port), Peer)


def connect(address):
    host, port = address.rsplit(":", 1)
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=600).makefile("rw")
        except OSError:
            time.sleep(0.2)


def train(name, seed, addresses):
    random.seed(seed)
    servers = [connect(address) for address in addresses]
    weights, losses = [0.0, 0.0], []
    for step in range(STEPS):
        points = [(x, 2 * x + 1) for x in (random.uniform(-1, 1) for _ in range(32))]
        errors = [(weights[0] * x + weights[1] - y, x) for x, y in points]
        losses.append(sum(e * e for e, _ in errors) / len(errors))
        gradient = [2 * sum(e * x for e, x in errors) / len(errors), 2 * sum(e for e, _ in errors) / len(errors)]
        for server in servers:
            server.write(json.dumps(gradient) + "\n")
            server.flush()
            weights = json.loads(server.readline())
        if step % 20 == 0:
            print("%s: step %d loss %.4f" % (name, step, losses[-1]), flush=True)
    assert losses[-1] < 0.01 < losses[0], losses
    print("%s: training completed, y = %.2f x + %.2f" % (name, *weights), flush=True)
    return weights


def ask_store(method, url, body=b""):
    """One request to an S3 store, signed with the keys of the environment (signature version 4)."""
    now, place = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), urllib.parse.urlsplit(url)
    scope = [now[:8], os.environ["AWS_REGION"], "s3", "aws4_request"]
    headers = {"host": place.netloc, "x-amz-content-sha256": hashlib.sha256(body).hexdigest(), "x-amz-date": now}
    canonical = "\n".join([method, place.path, ""] + ["%s:%s" % one for one in headers.items()]
                          + ["", ";".join(headers), headers["x-amz-content-sha256"]])
    text = "\n".join(["AWS4-HMAC-SHA256", now, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"].encode()
    for part in scope + [text]:
        key = hmac.new(key, part.encode(), "sha256").digest()
    headers["authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        os.environ["AWS_ACCESS_KEY_ID"], "/".join(scope), ";".join(list(headers)[:3]), key.hex())
    with urllib.request.urlopen(urllib.request.Request(url, body or None, headers, method=method)) as answer:
        return answer.status, answer.read().decode()


def export(weights):
    endpoint, bucket = os.environ.get("AWS_ENDPOINT_URL"), os.environ.get("BUCKET_NAME")
    if not endpoint:
        return
    try:
        ask_store("PUT", "%s/%s" % (endpoint, bucket))
    except urllib.error.HTTPError as error:
        if error.code != 409:  # it is there
            raise
    model = "%s/%s/export/model.json" % (endpoint, bucket)
    print("exported: %d" % ask_store("PUT", model, json.dumps(weights).encode())[0], flush=True)
    print("stored: " + ask_store("GET", model)[1], flush=True)


def main():
    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    if config:
        print("TF_CONFIG " + os.environ["TF_CONFIG"], flush=True)
        cluster, task = config["cluster"], config["task"]
        name, index = task["type"], task["index"]
        trainers = [role for role in ("chief", "master", "worker") if role in cluster]
        peers = sum(len(cluster[role]) for role in trainers)
        if name == "ps":
            serve(int(cluster["ps"][index].rsplit(":", 1)[1]), peers).serve_forever()
        if "ps" in cluster:
            weights = train("%s-%d" % (name, index), trainers.index(name) * 100 + index, cluster["ps"])
            if name == trainers[0] and index == 0:
                export(weights)
            return
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    port = int(os.environ.get("MASTER_PORT", "23456"))
    if rank == 0:
        server = serve(port, size)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    address = "127.0.0.1" if rank == 0 else os.environ["MASTER_ADDR"]
    train("rank %d of %d" % (rank, size), rank, ["%s:%d" % (address, port)])
    time.sleep(1 if rank == 0 else 0)  # the last answers travel


if __name__ == "__main__":
    sys.exit(main())
