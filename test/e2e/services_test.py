"""Services: cluster IPs from inside pods, ports of the host's loopback, affinity; and network policies."""
import socket
import unittest

from platform_under_test import PlatformTest, free_port, wait_for

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
              urllib.request.urlopen(request, context=trust)
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
HOST_PORT = """
apiVersion: v1
kind: Pod
metadata: {name: %(name)s}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: host
    command: [python3, -c, "%(program)s"]
    ports: [{containerPort: 8080, hostPort: %(port)d, hostIP: %(address)s}]
"""
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


STICKY = """
apiVersion: v1
kind: Service
metadata: {name: sticky}
spec: {selector: {app: web}, sessionAffinity: ClientIP, ports: [{port: 80, targetPort: 8080}]}
"""
OUTSIDE = """
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: %d, targetPort: 8080}]}
"""
POLICY = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: friends-only}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Ingress]
  ingress: [{from: [{podSelector: {matchLabels: {app: friend}}}], ports: [{port: 8080}]}]
"""
NAMES_ONLY = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: names-only}
spec:
  podSelector: {matchLabels: {app: asker}}
  policyTypes: [Egress]
  egress:
  - to:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}
      podSelector: {matchLabels: {k8s-app: kube-dns}}
    ports: [{port: 53, protocol: UDP}]
"""
IDLE = """
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %s}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: host, command: [sleep, "600"]}]
"""
# What a connection says, or why there is none.
CONNECT = """
import socket
try:
    with socket.create_connection(('%s', %d), 3) as s: print(s.recv(100).decode())
except OSError as error: print(type(error).__name__)
"""


def ask_host(port, address="127.0.0.1"):
    try:
        with socket.create_connection((address, port), 10) as connection:
            return connection.recv(100).decode()
    except OSError:
        return ""


class ServicesTest(PlatformTest):
    def start_webs(self):
        self.platform.apply_text(SERVICES + "---" + WEB % {"n": 0, "program": PROGRAM} + "---" +
                                 WEB % {"n": 1, "program": PROGRAM})
        wait_for("both endpoints", lambda: len(self.platform.kubectl(
            "get", "endpoints", "web", "-o", "jsonpath={.subsets[0].addresses[*].ip}").split()) == 2)

    def said(self, pod, host, port):
        return self.platform.kubectl("exec", pod, "--", "python3", "-c", CONNECT % (host, port), check=False).stdout

    def test_a_pod_talks_to_the_api_server_as_its_service_account(self):
        self.platform.apply_text(CALLER)
        wait_for("the caller's end", lambda: self.platform.kubectl(
            "get", "pod", "caller", "-o", "jsonpath={.status.phase}") in ("Succeeded", "Failed"))
        said = self.platform.kubectl("logs", "caller").splitlines()
        self.assertEqual(said, ["https://kubernetes.default.svc 403 True", "https://10.96.0.1:443 403 True"])

    def test_a_cluster_ip_leads_to_every_ready_pod(self):
        self.start_webs()
        wait_for("answers of both", lambda: self.platform.kubectl(
            "exec", "web-0", "--", "python3", "-c", ASK, check=False).stdout ==
            "['web-0', 'web-1']\nrefused\n")

    def test_one_client_keeps_to_one_pod(self):
        self.start_webs()
        self.platform.apply_text(STICKY)
        many = ASK.replace("'web'", "'sticky'")
        wait_for("an answer", lambda: self.platform.kubectl(
            "exec", "web-0", "--", "python3", "-c", many, check=False).stdout in
            ("['web-0']\nrefused\n", "['web-1']\nrefused\n"))

    def test_ports_of_the_hosts_loopback(self):
        self.start_webs()
        port = free_port()
        self.platform.apply_text(OUTSIDE % port)
        wait_for("its address", lambda: self.platform.kubectl(
            "get", "service", "outside", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}") == "127.0.0.1")
        node_port = self.platform.get("service", "outside")["spec"]["ports"][0]["nodePort"]
        for one in (port, node_port):
            wait_for("answers of both", lambda: {ask_host(one) for _ in range(6)} == {"web-0", "web-1"})
        self.platform.kubectl("delete", "service", "outside")
        wait_for("nobody listens", lambda: ask_host(port) == "")

    def test_host_ports_lead_to_their_pods(self):
        port = free_port()
        for name, address in (("first", "127.0.0.1"), ("second", "127.0.0.2")):
            self.platform.apply_text(HOST_PORT % {"name": name, "port": port, "address": address, "program": PROGRAM})
        wait_for("the first", lambda: ask_host(port) == "first")
        wait_for("the second", lambda: ask_host(port, "127.0.0.2") == "second")
        self.platform.kubectl("delete", "pod", "first")
        wait_for("nobody listens", lambda: ask_host(port) == "")
        wait_for("the second as before", lambda: ask_host(port, "127.0.0.2") == "second")

    def test_a_network_policy_lets_friends_in(self):
        self.start_webs()
        self.platform.apply_text(IDLE % ("friend", "friend") + "---" + IDLE % ("stranger", "stranger"))
        for pod in ("friend", "stranger"):
            wait_for("%s runs" % pod, lambda: self.platform.get("pod", pod)["status"].get("phase") == "Running")
        address = self.platform.get("pod", "web-1")["status"]["podIP"]
        wait_for("open to all", lambda: self.said("stranger", address, 8080) == "web-1\n")
        self.platform.apply_text(POLICY)
        wait_for("closed to strangers", lambda: self.said("stranger", address, 8080) == "TimeoutError\n")
        wait_for("open to friends", lambda: self.said("friend", address, 8080) == "web-1\n")
        wait_for("the service too", lambda: self.said("friend", "web", 80) in ("web-0\n", "web-1\n"))
        self.assertEqual(self.said("stranger", "web", 80), "TimeoutError\n")
        # Readiness probes come from the pod itself.
        self.assertEqual(self.platform.kubectl("get", "pod", "web-1", "--no-headers").split()[1], "1/1")
        self.platform.kubectl("delete", "networkpolicy", "friends-only")
        wait_for("open again", lambda: self.said("stranger", address, 8080) == "web-1\n")

    def test_the_usual_policy_for_names_lets_them_be_asked_for(self):
        self.start_webs()
        self.platform.apply_text(NAMES_ONLY + "---" + IDLE % ("asker", "asker"))
        wait_for("it runs", lambda: self.platform.get("pod", "asker")["status"].get("phase") == "Running")
        address = self.platform.get("service", "web")["spec"]["clusterIP"]
        self.assertEqual(self.platform.kubectl("exec", "asker", "--", "getent", "hosts", "web").split()[0], address)
        self.assertEqual(self.said("asker", "web", 80), "TimeoutError\n")
        self.platform.kubectl("delete", "networkpolicy", "names-only")
        wait_for("open again", lambda: self.said("asker", "web", 80) in ("web-0\n", "web-1\n"))

    def test_a_pod_on_the_hosts_network_reaches_the_api_server_by_loopback(self):
        self.platform.apply_text(CALLER.replace("name: caller", "name: local").replace(
            "spec:", "spec:\n  hostNetwork: true\n  dnsPolicy: ClusterFirstWithHostNet", 1).replace(
                '("https://kubernetes.default.svc", by_address)', "(by_address,)"))
        wait_for("its end", lambda: self.platform.get("pod", "local")["status"].get("phase") in ("Succeeded", "Failed"))
        said = self.platform.kubectl("logs", "local")
        self.assertRegex(said, r"^https://127\.0\.0\.1:[0-9]+ 403 True\n$")
        wait_for("an event about its names", lambda: "Falling back to \"Default\" policy" in self.platform.kubectl(
            "get", "events", "--field-selector", "reason=MissingClusterDNS,involvedObject.name=local",
            "-o", "jsonpath={.items[*].message}"))


if __name__ == "__main__":
    unittest.main()
