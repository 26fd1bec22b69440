"""`hekla apiserver` alone for tests that torture it, and a client of its own: plain http.client over TLS."""
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile

import platform_under_test as put

TOKEN = "e2e-admin"


class ApiServer:
    """Listens on a port of its own; the token TOKEN may do everything, `tokens` adds user names by token."""

    def __init__(self, *flags, tokens=None, environment=None):
        self.directory = tempfile.mkdtemp(prefix="hekla-e2e-api-")
        self.port = put.free_port()
        self.flags = list(flags)
        self.environment = dict(os.environ, **(environment or {}))
        self.process = None
        with open(os.path.join(self.directory, "tokens.csv"), "w") as file:
            file.write('%s,admin,1,"system:masters"\n' % TOKEN)
            for token, user in (tokens or {}).items():
                file.write("%s,%s,%s\n" % (token, user, user))
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [put.HEKLA, "apiserver", "--data-dir", os.path.join(self.directory, "data"), "--secure-port",
                 str(self.port), "--token-auth-file", os.path.join(self.directory, "tokens.csv")] + self.flags,
                stdout=subprocess.PIPE, stderr=log, env=self.environment)
        if not put.line_of(self.process):
            raise AssertionError("hekla apiserver did not get ready:\n" + self.log())
        return self

    def log(self):
        with open(os.path.join(self.directory, "log"), errors="replace") as file:
            return file.read()[-4000:]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.wait()

    def wait(self):
        self.process.wait(put.PATIENCE)
        self.process.stdout.close()
        self.process = None

    def destroy(self):
        if self.process:
            self.process.terminate()
            self.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def connect(self, token=TOKEN, timeout=put.PATIENCE):
        return Client(self, token, timeout)


class Client:
    """One keep-alive connection."""

    def __init__(self, server, token, timeout):
        self.http = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=timeout, context=server.tls)
        self.token = token

    def call(self, method, path, body=None, headers=None):
        """Status and parsed body. OSError or HTTPException: nobody knows what came of it."""
        all_headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json", **(headers or {})}
        text = json.dumps(body) if isinstance(body, (dict, list)) else body
        self.http.request(method, path, text, all_headers)
        response = self.http.getresponse()
        data = response.read()
        try:
            return response.status, json.loads(data) if data else None
        except ValueError:
            return response.status, data

    def close(self):
        self.http.close()
