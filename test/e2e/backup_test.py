"""hekla backup and hekla restore on a running API server."""
import os
import subprocess
import unittest

import api_server
import platform_under_test as put

MAPS = "/api/v1/namespaces/default/configmaps"
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %s}}]
"""


class Backup(unittest.TestCase):
    def setUp(self):
        self.server = api_server.ApiServer()
        self.addCleanup(self.server.destroy)
        self.server.start()
        self.client = self.server.connect()
        self.addCleanup(self.client.close)
        self.kubeconfig = os.path.join(self.server.directory, "kubeconfig")
        with open(self.kubeconfig, "w") as file:
            file.write(KUBECONFIG % (self.server.port, api_server.TOKEN))
        self.file = os.path.join(self.server.directory, "backup")

    def hekla(self, verb):
        return subprocess.run([put.HEKLA, verb, self.file, "--kubeconfig", self.kubeconfig], capture_output=True,
                              text=True, timeout=put.PATIENCE)

    def test_there_and_back(self):
        for i in range(40):  # more than one part of a restore
            self.client.call("POST", MAPS, {"metadata": {"name": "m%d" % i}, "data": {"x": str(i % 10) * 100000}})
        done = self.hekla("backup")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        before = self.client.call("GET", MAPS + "/m7")[1]
        self.client.call("DELETE", MAPS + "/m7")
        self.client.call("POST", MAPS, {"metadata": {"name": "later"}})
        done = self.hekla("restore")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(": 1 objects written, 1 removed, at revision ", done.stdout)
        after = self.client.call("GET", MAPS + "/m7")[1]
        self.assertGreater(int(after["metadata"].pop("resourceVersion")), int(before["metadata"].pop("resourceVersion")))
        self.assertEqual(after, before)
        self.assertEqual(self.client.call("GET", MAPS + "/later")[0], 404)

    def test_a_damaged_file_changes_nothing(self):
        self.hekla("backup")
        with open(self.file, "r+b") as file:
            file.seek(100)
            file.write(b"!!!!")
        done = self.hekla("restore")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "hekla: the backup: damaged at offset 40: no valid group\n")
        self.file = os.path.join(self.server.directory, "absent")
        self.assertIn("No such file or directory", self.hekla("restore").stderr)


if __name__ == "__main__":
    unittest.main()
