#!/usr/bin/env python3
"""Asks kube-apiserver and Hekla the same things and compares the answers.

usage: run.py [--mutations] [--only REGEX] [--all]     exit 1 on a difference that accepted.yaml (accepted_mutations.yaml) does not list,
and on one it lists that is gone
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
import mutations
import servers

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = os.path.join(servers.ROOT, "docs/compat/kubernetes-differences.md")


class Row:
    """One accepted pattern of case and place. `seen`: whether this run met it; what depends on time counts as met."""

    def __init__(self, case, place, seen):
        self.case = case
        self.place = place
        self.seen = seen

    def covers(self, case, place):
        return matches(self.case, case) and matches(self.place, place)


def matches(pattern, text):
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))


def accepted(name):
    with open(os.path.join(HERE, name)) as file:
        entries = yaml.safe_load(file)
    with open(DOCUMENT) as file:
        document = " ".join(file.read().split())
    for entry in entries:
        if " ".join(entry["reason"].split()) not in document:
            sys.exit("%s does not say: %s" % (DOCUMENT, entry["reason"]))
    return [Row(case, place, key == "sometimes") for e in entries for key in ("at", "sometimes")
            for case, places in e.get(key, {}).items() for place in places]


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


def run_cases(make, rows, show_all):
    """`make`: the cases, given the running peer. Returns how many they are, how many differences no row covers, how many one does."""
    asked, unlisted, known = 0, 0, 0
    pair = [servers.kubernetes(admission=())]
    try:
        pair.append(servers.hekla_apiserver())
        threads = [threading.Thread(target=prepare, args=(s,)) for s in pair]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        theirs, ours = pair
        for case in make(theirs):
            asked += 1
            for place, want, got in compare.differences(answer(ours, case), answer(theirs, case)):
                covering = [r for r in rows if r.covers(case.name, place)]
                for row in covering:
                    row.seen = True
                unlisted, known = unlisted + (not covering), known + bool(covering)
                if show_all or not covering:
                    print("%s @ %s%s\n    kubernetes: %s\n    hekla:      %s" % (
                        case.name, place, "  (accepted)" if covering else "", want, got))
    finally:
        for server in pair:
            server.stop()
    return asked, unlisted, known


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--mutations", action="store_true", help="full objects with one member spoiled at a time")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--all", action="store_true", help="print accepted differences too")
    options = arguments.parse_args()
    with open(os.path.join(HERE, "objects.yaml")) as file:
        entries = yaml.safe_load(file)
    plain = cases.general_cases() + [c for e in entries for c in cases.cases_of(e)]

    def make(peer):
        return (c for c in (mutations.all_cases(peer) if options.mutations else plain)
                if re.search(options.only, c.name) or c.name.endswith(mutations.ALWAYS))
    rows = accepted("accepted_mutations.yaml" if options.mutations else "accepted.yaml")
    asked, unlisted, known = run_cases(make, rows, options.all)
    gone = [] if options.only else [r for r in rows if not r.seen]
    for row in gone:
        print("no longer a difference: %s @ %s" % (row.case, row.place))
    print("%d requests, %d differences not listed, %d listed, %d listed and gone" % (
        asked, unlisted, known, len(gone)))
    return 1 if unlisted or gone else 0


if __name__ == "__main__":
    sys.exit(main())
