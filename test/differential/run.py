#!/usr/bin/env python3
"""Asks kube-apiserver and Hekla the same things and compares the answers.

usage: run.py [--only REGEX] [--all]     exit 1 if they differ where docs/compat/kubernetes-differences.md does not say so
Environment: HEKLA (the binary), HEKLA_PEERS (where build_peers put etcd and kube-apiserver).
"""
import argparse
import fnmatch
import os
import re
import sys
import threading
import time

import yaml

import cases
import compare
import servers

HERE = os.path.dirname(os.path.abspath(__file__))
ACCEPTED = os.path.join(servers.ROOT, "docs/compat/kubernetes-differences.md")


def accepted():
    """The rows of the document's table: | case pattern | place pattern | reason |."""
    rows = []
    with open(ACCEPTED) as file:
        for line in file:
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if len(cells) == 3 and cells[0].startswith("`"):
                rows.append((cells[0].strip("`"), cells[1].strip("`"), cells[2]))
    return rows


def matches(pattern, text):
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))


def prepare(server):
    server.wait_ready()
    for name in (cases.NAMESPACE, "elsewhere"):
        server.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        server.ask("POST", "/api/v1/namespaces/%s/serviceaccounts" % name,
                   {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", cases.WIDGETS)
    wait_served(server, "GET", "/apis/example.org/v1/widgets")
    # Services need an allocator that kube-apiserver makes some time after it is ready.
    wait_served(server, "POST", "/api/v1/namespaces/%s/services?dryRun=All" % cases.NAMESPACE, {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "probe"}, "spec": {"ports": [{"port": 1}]}})


def wait_served(server, method, path, body=None, seconds=60):
    deadline = time.time() + seconds
    while time.time() < deadline:
        if server.ask(method, path, body).code in (200, 201):
            return
        time.sleep(0.1)
    print("%s does not serve %s" % (server.name, path))


def answer(server, case):
    body = case.body
    if callable(body):
        live = server.ask("GET", case.live)
        if live.code != 200:
            body = {}
        else:
            body = body(live.body)
    return server.ask(case.method, case.path, body, case.headers)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--only", default="")
    arguments.add_argument("--all", action="store_true", help="print accepted differences too")
    options = arguments.parse_args()
    with open(os.path.join(HERE, "objects.yaml")) as file:
        entries = yaml.safe_load(file)
    todo = cases.general_cases() + [c for e in entries for c in cases.cases_of(e)]
    todo = [c for c in todo if re.search(options.only, c.name)]
    rows = accepted()
    used, unlisted, known = set(), 0, 0
    pair = [servers.kubernetes()]
    try:
        pair.append(servers.hekla())
        threads = [threading.Thread(target=prepare, args=(s,)) for s in pair]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        theirs, ours = pair
        for case in todo:
            for place, want, got in compare.differences(answer(ours, case), answer(theirs, case)):
                reason = next((i for i, r in enumerate(rows) if matches(r[0], case.name) and matches(r[1], place)), None)
                if reason is not None:
                    used.add(reason)
                    known += 1
                    if not options.all:
                        continue
                else:
                    unlisted += 1
                print("%s @ %s%s\n    kubernetes: %s\n    hekla:      %s" % (
                    case.name, place, "" if reason is None else "  (accepted)", want, got))
    finally:
        for server in pair:
            server.stop()
    if not options.only:
        for index, row in enumerate(rows):
            if index not in used:
                unlisted += 1
                print("no longer a difference: %s @ %s" % row[:2])
    print("%d requests, %d differences not listed, %d listed" % (len(todo), unlisted, known))
    return 1 if unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
