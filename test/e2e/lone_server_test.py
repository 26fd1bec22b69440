"""`hekla apiserver` as test suites and administrators start it: its flags, its certificate, its kubeconfig."""
import os
import socket
import ssl
import stat
import subprocess
import unittest

import api_server
import platform_under_test as put


def names_of(port):
    """What the certificate of the server at that port is good for."""
    pem = ssl.get_server_certificate(("127.0.0.1", port))
    done = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], input=pem, text=True,
                          capture_output=True, check=True)
    return [name.strip() for name in done.stdout.splitlines()[1].split(",")]


class LoneServer(unittest.TestCase):
    def start(self, *flags):
        server = api_server.ApiServer(*flags)
        self.addCleanup(server.destroy)
        return server.start()

    def kubectl(self, server, *arguments):
        config = os.path.join(server.directory, "data/admin.kubeconfig")
        return subprocess.run([put.kubectls()[0], "--kubeconfig", config, *arguments], capture_output=True, text=True,
                              env=dict(os.environ, HOME=server.directory), timeout=put.PATIENCE)

    def test_a_wildcard_is_every_address_and_the_kubeconfig_is_the_administrators(self):
        server = self.start("--bind-address", "0.0.0.0", "--tls-san", "api.example.org", "--tls-san", "192.0.2.7")
        names = names_of(server.port)
        for name in ("IP Address:127.0.0.1", "IP Address:192.0.2.7", "DNS:api.example.org", "DNS:" + socket.gethostname()):
            self.assertIn(name, names)
        addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
        for address in addresses:
            if ":" not in address:
                self.assertIn("IP Address:" + address, names)
        config = os.path.join(server.directory, "data/admin.kubeconfig")
        self.assertEqual(stat.S_IMODE(os.stat(config).st_mode), 0o600)
        done = self.kubectl(server, "auth", "can-i", "*", "*")
        self.assertEqual(done.stdout.strip(), "yes", done.stderr)
        told = self.kubectl(server, "get", "--raw", "/api")
        self.assertIn(':%d"' % server.port, told.stdout)
        self.assertNotIn("0.0.0.0:", told.stdout)
        service = self.kubectl(server, "get", "service", "kubernetes", "-o", "jsonpath={.spec.ports[0].targetPort}")
        self.assertEqual(service.stdout, str(server.port))
        file = os.path.join(server.directory, "backup")
        subprocess.run([put.HEKLA, "backup", "--data-dir", os.path.join(server.directory, "data"), file], check=True,
                       capture_output=True, timeout=put.PATIENCE)
        self.assertGreater(os.path.getsize(file), 0)

    def test_a_lost_log_is_not_taken_for_a_new_store(self):
        server = self.start()
        store = os.path.join(server.directory, "data/store")
        (segment,) = os.listdir(store)
        server.kill()
        for damage in (lambda path: os.truncate(path, 0), os.unlink):
            damage(os.path.join(store, segment))
            with self.assertRaises(AssertionError):
                server.start()
            server.wait()
            self.assertIn(segment + ": missing or empty, though this store was in use", server.log())
        os.rmdir(store)
        server.start()
        self.assertIn("certificates without a store", server.log())

    def test_flags_of_suites(self):
        server = self.start("--feature-gates=SomeGate=true", "--runtime-config", "api/all=true",
                            "--delete-collection-workers=5", "--watch-cache=false", "--max-requests-inflight=10",
                            "--max-mutating-requests-inflight=5", "--anonymous-auth=false",
                            "--pod-security-default", "baseline", "--disable-admission-plugins", "ServiceAccount")
        self.assertIn("--feature-gates is accepted and has no meaning here", server.log())
        client = server.connect(token="nobody's")
        self.assertEqual(client.call("GET", "/version")[0], 401)
        client.close()
        client = server.connect()
        self.addCleanup(client.close)
        pod = {"metadata": {"name": "p"}, "spec": {"hostPID": True, "containers": [{"name": "c", "image": "i"}]}}
        status, answer = client.call("POST", "/api/v1/namespaces/default/pods", pod)
        self.assertEqual(status, 403)
        self.assertIn('violates PodSecurity "baseline:latest": host namespaces (hostPID=true)', answer["message"])
        refused = subprocess.run([put.HEKLA, "apiserver", "--data-dir", server.directory + "/x", "--oidc-issuer-url", "x"],
                                 capture_output=True, text=True, timeout=put.PATIENCE)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("--oidc-issuer-url", refused.stderr)


if __name__ == "__main__":
    unittest.main()
