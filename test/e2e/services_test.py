"""Cluster IPs from inside pods: the API server's own service and an ordinary one."""
import unittest

from platform_under_test import PlatformTest, wait_for

CALLER = """
apiVersion: v1
kind: Pod
metadata: {name: caller}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: host
    command:
    - python3
    - -c
    - |
      import os, ssl, urllib.request
      files = "/var/run/secrets/kubernetes.io/serviceaccount/"
      trust = ssl.create_default_context(cafile=files + "ca.crt")
      token = open(files + "token").read()
      by_address = "https://%s:%s" % (os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
      for server in ("https://kubernetes.default.svc", by_address):
          request = urllib.request.Request(server + "/api/v1/namespaces/default/pods",
                                           headers={"Authorization": "Bearer " + token})
          try:
              urllib.request.urlopen(request, context=trust, timeout=10)
              print(server, "allowed")
          except urllib.error.HTTPError as error:
              print(server, error.code, "system:serviceaccount:default:default" in error.read().decode())
"""
WEB = """
apiVersion: v1
kind: Pod
metadata: {name: web-%(n)d, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: host
    command: [python3, -c, "%(program)s"]
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
"""
# Answers every connection with the pod's own name.
PROGRAM = ("import socket; s = socket.create_server(('', 8080)); name = socket.gethostname().encode()\\n"
           "while True: c = s.accept()[0]; c.sendall(name); c.close()")
SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: nobody}
spec: {selector: {app: nobody}, ports: [{port: 80}]}
"""
ASK = """
import socket
names = set()
for i in range(40):
    with socket.create_connection(('web', 80), 5) as s: names.add(s.recv(100).decode())
print(sorted(names))
try:
    socket.create_connection(('nobody', 80), 5)
except ConnectionRefusedError:
    print('refused')
"""


class ServicesTest(PlatformTest):
    def test_a_pod_talks_to_the_api_server_as_its_service_account(self):
        self.platform.apply_text(CALLER)
        wait_for("the caller's end", lambda: self.platform.kubectl(
            "get", "pod", "caller", "-o", "jsonpath={.status.phase}") in ("Succeeded", "Failed"))
        said = self.platform.kubectl("logs", "caller").splitlines()
        self.assertEqual(said, ["https://kubernetes.default.svc 403 True", "https://10.96.0.1:443 403 True"])

    def test_a_cluster_ip_leads_to_every_ready_pod(self):
        self.platform.apply_text(SERVICES + "---" + WEB % {"n": 0, "program": PROGRAM} + "---" +
                                 WEB % {"n": 1, "program": PROGRAM})
        wait_for("both endpoints", lambda: len(self.platform.kubectl(
            "get", "endpoints", "web", "-o", "jsonpath={.subsets[0].addresses[*].ip}").split()) == 2)
        wait_for("answers of both", lambda: self.platform.kubectl(
            "exec", "web-0", "--", "python3", "-c", ASK, check=False).stdout ==
            "['web-0', 'web-1']\nrefused\n", timeout=10)


if __name__ == "__main__":
    unittest.main()
