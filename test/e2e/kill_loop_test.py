"""kill -9 of the API server under load, again and again. A client that only knows HTTP checks each time that every write
the server had acknowledged is there, that revisions never go back, and that what watchers saw is what lists say.

Short in the whole suite; `make test-crash` runs 200 kills (HEKLA_KILLS) with 32 writers, on the real disk and on one that
loses everything that was not synced (HEKLA_TEST_DISK=held)."""
import http.client
import json
import os
import random
import threading
import time
import unittest

import api_server
import platform_under_test as put

KILLS = int(os.environ.get("HEKLA_KILLS", "5"))
WRITERS = 32
MAPS = "/api/v1/namespaces/default/configmaps"
BROKEN = (OSError, http.client.HTTPException)


class Lost(AssertionError):
    """The server broke a promise."""


class Writer(threading.Thread):
    """Creates, changes and deletes objects of its own. `known`: name -> (revision, value), None when it is gone. The write
    under way when the server dies may have happened or not: `unsure` is its name and what it would leave."""

    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.server = server
        self.number = number
        self.random = random.Random(number)
        self.known = {}
        self.unsure = None
        self.acknowledged = 0
        self.newest = 0
        self.failure = None
        self.count = 0

    def begin(self):
        super().__init__(daemon=True)
        self.start()

    def run(self):
        client = self.server.connect()
        try:
            while True:
                self.write(client)
        except BROKEN:
            pass
        except AssertionError as failure:
            self.failure = failure
        finally:
            client.close()

    def write(self, client):
        alive = [name for name, state in self.known.items() if state]
        choice = self.random.random()
        if not alive or (choice < 0.5 and len(alive) < 50):
            self.count += 1
            name, value = "w%d-%d" % (self.number, self.count), "1"
            self.unsure = (name, value)
            status, body = client.call("POST", MAPS, self.object(name, value))
        else:
            name = self.random.choice(alive)
            if choice < 0.8:
                value = str(int(self.known[name][1]) + 1)
                self.unsure = (name, value)
                status, body = client.call("PUT", MAPS + "/" + name, self.object(name, value))
            else:
                value = None
                self.unsure = (name, None)
                status, body = client.call("DELETE", MAPS + "/" + name)
        if status not in (200, 201):
            raise Lost("%s of %s: %s %s" % (self.unsure, name, status, body))
        self.acknowledged += 1
        if value is None:
            self.known[name] = None
        else:
            revision = int(body["metadata"]["resourceVersion"])
            if revision <= self.newest:
                raise Lost("revision %d after %d" % (revision, self.newest))
            self.newest = revision
            self.known[name] = (revision, value)
        self.unsure = None

    @staticmethod
    def object(name, value):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": value, "pad": "x" * 500}}

    def check(self, found):
        """`found`: name -> (revision, value) of everything there is."""
        if self.failure:
            raise self.failure
        for name, state in self.known.items():
            there = found.get(name)
            if self.unsure and name == self.unsure[0]:
                continue
            if there != state:
                raise Lost("%s: acknowledged %s, found %s" % (name, state, there))
        if self.unsure:
            name, value = self.unsure
            there = found.get(name)
            before = self.known.get(name)
            if there != before and (there[1] if there else None) != value:
                raise Lost("%s: was %s, could have become %s, found %s" % (name, before, value, there))
            self.known[name] = there
            self.unsure = None
        self.newest = max([self.newest] + [state[0] for state in self.known.values() if state])


class Watcher(threading.Thread):
    """A mirror kept by list and watch."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.mirror = {}
        self.revision = 0
        self.client = None

    def run(self):
        try:
            self.client = self.server.connect()
            self.mirror, self.revision = list_maps(self.client)
            self.client.http.request("GET", MAPS + "?watch=1&resourceVersion=%d" % self.revision,
                                     headers={"Authorization": "Bearer " + self.client.token})
            stream = self.client.http.getresponse()
            while True:
                line = stream.readline()
                if not line:
                    return
                self.apply(json.loads(line))
        except BROKEN + (ValueError,):  # a line cut off by the end
            pass
        finally:
            if self.client:
                self.client.close()

    def apply(self, event):
        if event["type"] == "ERROR":
            raise Lost("the watch ended with %s" % event)
        name, state = state_of(event["object"])
        if event["type"] == "DELETED":
            self.mirror.pop(name, None)
        else:
            self.mirror[name] = state
        self.revision = max(self.revision, state[0])

    def check(self, found, revision):
        if self.revision > revision:
            raise Lost("a watcher saw revision %d, the server is at %d" % (self.revision, revision))
        for name, state in self.mirror.items():
            there = found.get(name)
            if there and there[0] < state[0]:
                raise Lost("%s: a watcher saw %s, the list has %s" % (name, state, there))
        for name, there in found.items():
            if there[0] <= self.revision and self.mirror.get(name) != there:
                raise Lost("%s: the list has %s, a watcher had %s" % (name, there, self.mirror.get(name)))


def state_of(item):
    return item["metadata"]["name"], (int(item["metadata"]["resourceVersion"]), item.get("data", {}).get("v"))


def list_maps(client):
    status, body = client.call("GET", MAPS)
    if status != 200:
        raise Lost("list: %s %s" % (status, body))
    return dict(state_of(item) for item in body["items"]), int(body["metadata"]["resourceVersion"])


def torture(server, kills):
    """Returns how many writes were acknowledged."""
    writers = [Writer(server, number) for number in range(WRITERS)]
    revision = 0
    chance = random.Random(1)
    server.start()
    for _ in range(kills):
        watcher = Watcher(server)
        watcher.start()
        busy_at = sum(writer.acknowledged for writer in writers) + WRITERS
        for writer in writers:
            writer.begin()
        patience = time.time() + put.PATIENCE
        while sum(writer.acknowledged for writer in writers) < busy_at and time.time() < patience:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.4))
        server.kill()
        for thread in writers + [watcher]:
            thread.join(put.PATIENCE)
            if thread.is_alive():
                raise AssertionError("a client hangs")
        server.start()
        client = server.connect()
        found, now = list_maps(client)
        client.close()
        if now < revision:
            raise Lost("the revision went from %d back to %d" % (revision, now))
        revision = now
        for writer in writers:
            writer.check(found)
        mine = {name for writer in writers for name, state in writer.known.items() if state}
        strangers = [name for name in found if name.startswith("w") and name not in mine]
        if strangers:
            raise Lost("nobody wrote %s" % strangers)
        watcher.check(found, now)
    return sum(writer.acknowledged for writer in writers)


class KillLoop(unittest.TestCase):
    def run_on(self, disk, kills):
        server = api_server.ApiServer(environment={"HEKLA_TEST_DISK": disk} if disk else None)
        self.addCleanup(server.destroy)
        begun = time.time()
        acknowledged = torture(server, kills)
        print("%d kills, %d writes acknowledged, %.0f s" % (kills, acknowledged, time.time() - begun), flush=True)
        self.assertGreater(acknowledged, kills * 10)

    def test_on_the_real_disk(self):
        self.run_on("", KILLS)

    def test_on_a_disk_that_loses_what_was_not_synced(self):
        self.run_on("held", KILLS)

    def test_without_syncs_the_loss_is_noticed(self):
        server = api_server.ApiServer(environment={"HEKLA_TEST_DISK": "held"})
        self.addCleanup(server.destroy)
        server.start().kill()  # a log that can be read: without one the next start is refused
        server.environment["HEKLA_TEST_DISK"] = "held-without-syncs"
        with self.assertRaises(Lost):
            torture(server, 3)


if __name__ == "__main__":
    unittest.main()
