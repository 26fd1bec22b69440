"""kubectl's commands against one platform, with every kubectl at hand: what is printed, not only that it works.

Each class below runs with a kubectl of its own in a namespace of its own; the steps of a class build on each
other in the order of their names. Nodes are played, so nothing here waits for containers.
"""
import json
import os
import re
import shlex
import subprocess
import tempfile
import time
import unittest

import platform_under_test as put

APP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {part: app}}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: c
        image: img:1
        ports: [{containerPort: 80}]
"""
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {part: app}}
data: {k: v}
"""
WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Colour, type: string, jsonPath: .spec.colour, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: A thing of some size.
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How big it is.}
              colour: {type: string, enum: [red, blue], default: red}
          status: {type: object, properties: {size: {type: integer}}}
"""
TRAINING = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 2
  schedulerName: volcano
  queue: QUEUE
  tasks:
  - name: worker
    replicas: 2
    template:
      metadata: {annotations: {hekla.io/fake-run-seconds: "3600"}}
      spec:
        restartPolicy: Never
        containers: [{name: main, image: trainer, command: [sleep, "3600"], resources: {requests: {cpu: "1"}}}]
"""
PLATFORM = None
PORTS = r"\d+:3\d{4}/TCP"


def setUpModule():
    global PLATFORM
    PLATFORM = put.Platform("--no-agent", "--fake-nodes", "2")
    unittest.addModuleCleanup(PLATFORM.destroy)
    PLATFORM.up()


class Tour:
    """The steps; subclasses name the kubectl."""
    TOOL = ""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        version = json.loads(subprocess.run([cls.TOOL, "version", "--client", "-o", "json"], check=True,
                                            capture_output=True).stdout)["clientVersion"]
        cls.minor = int(re.match(r"\d+", version["minor"]).group())
        print("\nTour with kubectl %s (%s)" % (version["gitVersion"], cls.TOOL), flush=True)
        cls.modern = cls.minor >= 27  # reads OpenAPI v3, leaves validation to the server, hides managedFields
        cls.ns = "tour-1-%d" % cls.minor
        cls.directory = tempfile.mkdtemp(prefix="hekla-tour-")
        cls.commands = 0
        PLATFORM.kubectl("create", "namespace", cls.ns, tool=cls.TOOL)

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["rm", "-rf", cls.directory])

    def run_kubectl(self, line, stdin=None, env=None):
        type(self).commands += 1
        environment = dict(os.environ, KUBECONFIG=PLATFORM.kubeconfig, HOME=PLATFORM.home, **(env or {}))
        words = shlex.split(line)
        if words[0] not in ("config", "plugin", "completion"):
            words = words[:1] + ["-n", self.ns] + words[1:]
        done = subprocess.run([self.TOOL] + words, capture_output=True, text=True, input=stdin, env=environment,
                              timeout=2 * put.PATIENCE, cwd=self.directory)
        done.stdout = done.stdout.replace(" deleted from %s namespace" % self.ns, " deleted")  # since 1.34
        return done

    def ok(self, line, stdin=None, env=None):
        done = self.run_kubectl(line, stdin, env)
        if done.returncode != 0:
            self.fail("kubectl %s: exit %d\n%s%s\n%s" % (line, done.returncode, done.stdout, done.stderr,
                                                        PLATFORM.log()))
        return done

    def says(self, line, text, stdin=None, env=None):
        self.assertEqual(self.ok(line, stdin, env).stdout, text, line)

    def shows(self, line, *patterns, stdin=None):
        def check():
            text = self.ok(line, stdin).stdout
            for pattern in patterns:
                self.assertRegex(text, re.compile(pattern, re.MULTILINE), line)
        self.check(line, check)

    def check(self, line, check):
        """What controllers write may come a little later: who only reads looks again."""
        deadline = time.monotonic() + put.PATIENCE
        while True:
            before = self.commands
            try:
                return check()
            except AssertionError:
                if line.split()[0] not in ("get", "describe") or time.monotonic() > deadline:
                    raise
            type(self).commands = before
            time.sleep(0.2)

    def fails(self, line, *fragments, stdin=None):
        done = self.run_kubectl(line, stdin)
        self.assertNotEqual(done.returncode, 0, "%s\n%s" % (line, done.stdout))
        for fragment in fragments:
            self.assertIn(fragment, done.stdout + done.stderr, line)

    def rows(self, line, *expected):
        """The table's cells, row by row; "*" matches anything."""
        def check():
            text = self.ok(line).stdout
            found = [re.split(r"\s{2,}", row.strip()) for row in text.strip().splitlines()]
            wanted = [row.split("|") for row in expected]
            self.assertEqual(len(found), len(wanted), text)
            for row, cells in zip(found, wanted):
                self.assertEqual([w if w == "*" else c for c, w in zip(row, cells)] + row[len(cells):], cells, text)
        self.check(line, check)

    def watching(self, *arguments):
        """A kubectl that has begun to watch; it says so on its standard error."""
        path = os.path.join(self.directory, "watching")
        environment = dict(os.environ, KUBECONFIG=PLATFORM.kubeconfig, HOME=PLATFORM.home)
        with open(path, "w") as said:
            process = subprocess.Popen([self.TOOL, *arguments, "-n", self.ns, "-v=6"], stdout=subprocess.PIPE,
                                       stderr=said, text=True, env=environment)

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)

        def begun():
            with open(path) as file:
                return "watch=true" in file.read()
        put.wait_for("kubectl watches", begun)
        return process

    def file(self, name, text):
        with open(os.path.join(self.directory, name), "w") as out:
            out.write(text)

    # -- what the server says about itself

    def test_01_server(self):
        if self.modern:
            self.shows("version", r"^Server Version: v1\.34\.\d+\+hekla$")
        else:
            self.shows("version", r'Server Version: version\.Info\{Major:"1", Minor:"34"')
        self.shows("cluster-info", r"is running at .*https://127\.0\.0\.1:\d+")
        self.shows("api-versions", r"^apps/v1$", r"^batch\.volcano\.sh/v1alpha1$", r"^v1$",
                   r"^rbac\.authorization\.k8s\.io/v1$")
        self.shows("api-resources", r"^deployments +deploy +apps/v1 +true +Deployment$",
                   r"^jobs +vcjob,vj +batch\.volcano\.sh/v1alpha1 +true +Job$",
                   r"^nodes +no +v1 +false +Node$")
        self.shows("api-resources --api-group=batch.volcano.sh -o name", r"^jobs\.batch\.volcano\.sh$")
        self.shows("api-resources --namespaced=false --verbs=list -o wide", r"^queues .*\[?create")
        self.says("get --raw /healthz", "ok")
        self.shows("get --raw /readyz?verbose", r"^\[\+\]ping ok$", r"^readyz check passed$")
        self.shows("get --raw /version", r'^ +"gitVersion": "v1\.34')
        self.shows("get --raw /metrics", r"^# TYPE ")
        self.fails("get --raw /nosuch", "the server could not find the requested resource")
        self.fails("get nosuch", "the server doesn't have a resource type \"nosuch\"")
        self.shows("config view --minify", r"^kind: Config$", r"^    server: https://127\.0\.0\.1:\d+$")
        self.says("config current-context", "hekla\n")
        self.says("config get-contexts -o name", "hekla\n")
        self.fails("top node", "Metrics API not available")
        self.fails("top pod", "Metrics API not available")

    # -- create, in all its forms

    def test_02_create(self):
        n = self.ns
        self.says("create deployment web --image=nginx:1.25 --replicas=2 --port=80", "deployment.apps/web created\n")
        self.says("create job pi --image=perl:5 -- perl -e 1", "job.batch/pi created\n")
        # An old kubectl asks for versions that left Kubernetes in 1.25.
        self.says("create cronjob tick --image=busybox --schedule='0 3 29 2 *' -- date",
                  "cronjob.batch/tick created\n")
        if self.modern:
            self.says("create job manual --from=cronjob/tick", "job.batch/manual created\n")
        else:  # it is told of batch/v1 first, where it knows no such kind
            self.fails("create job manual --from=cronjob/tick", 'no kind "CronJob" is registered for version "batch/v1"')
        self.says("create poddisruptionbudget pdb --selector=app=web --min-available=1",
                  "poddisruptionbudget.policy/pdb created\n")
        self.says("create configmap cfg --from-literal=a=1 --from-literal=b=two", "configmap/cfg created\n")
        self.file("motd", "hello\n")
        self.says("create configmap files --from-file=motd --from-file=again=motd", "configmap/files created\n")
        self.file("vars", "A=1\nB=2\n")
        self.says("create configmap envs --from-env-file=vars", "configmap/envs created\n")
        self.says("create secret generic sec --from-literal=user=admin --from-literal=pw=s3cret",
                  "secret/sec created\n")
        self.says("create secret docker-registry reg --docker-server=r.example --docker-username=u "
                  "--docker-password=p", "secret/reg created\n")
        subprocess.run("openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -subj /CN=x -days 30",
                       shell=True, check=True, capture_output=True, cwd=self.directory)
        self.says("create secret tls tls --cert=tls.crt --key=tls.key", "secret/tls created\n")
        self.says("create serviceaccount robot", "serviceaccount/robot created\n")
        self.says("create role reader --verb=get,list,watch --resource=pods,pods/log",
                  "role.rbac.authorization.k8s.io/reader created\n")
        self.says("create rolebinding reader --role=reader --serviceaccount=%s:robot" % n,
                  "rolebinding.rbac.authorization.k8s.io/reader created\n")
        self.says("create clusterrole %s-nodes --verb=get --resource=nodes" % n,
                  "clusterrole.rbac.authorization.k8s.io/%s-nodes created\n" % n)
        self.says("create clusterrolebinding %s-jane --clusterrole=%s-nodes --user=jane --group=devs" % (n, n),
                  "clusterrolebinding.rbac.authorization.k8s.io/%s-jane created\n" % n)
        self.says("create quota q --hard=pods=50,services=50,count/configmaps=100", "resourcequota/q created\n")
        self.says("create priorityclass %s-high --value=1000 --description=high" % n,
                  "priorityclass.scheduling.k8s.io/%s-high created\n" % n)
        self.says("create ingress web --rule=foo.com/bar=web:80 --class=nginx",
                  "ingress.networking.k8s.io/web created\n")
        self.says("create service clusterip s1 --tcp=80:8080", "service/s1 created\n")
        self.says("create service nodeport s2 --tcp=80:8080", "service/s2 created\n")
        self.says("create service loadbalancer s3 --tcp=80:8080", "service/s3 created\n")
        self.says("create service externalname s4 --external-name=example.com", "service/s4 created\n")
        self.says("create namespace %s-extra" % n, "namespace/%s-extra created\n" % n)
        self.says("run sleeper --image=busybox --restart=Never --labels=app=sleeper -- sleep 3600",
                  "pod/sleeper created\n")
        self.says("expose deployment web --port=80 --target-port=8080 --name=websvc", "service/websvc exposed\n")
        self.says("autoscale deployment web --min=1 --max=5 --cpu-percent=80",
                  "horizontalpodautoscaler.autoscaling/web autoscaled\n")
        if self.minor >= 24:
            token = self.ok("create token robot --duration=10m").stdout.strip()
            review = json.loads(self.ok("create -f - -o json", json.dumps({
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}})).stdout)
            self.assertEqual(review["status"]["user"]["username"], "system:serviceaccount:%s:robot" % n)

    def test_03_create_refused(self):
        self.fails("create configmap cfg", 'configmaps "cfg" already exists')
        self.fails("create configmap Bad_Name", 'ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: '
                   '"Bad_Name": a lowercase RFC 1123 subdomain must consist of')
        self.fails("create deployment x --image=i -n nowhere", 'namespaces "nowhere" not found')
        self.fails("create -f -", 'unknown field "dat"', stdin="apiVersion: v1\nkind: ConfigMap\n"
                   "metadata: {name: unknown}\ndat: {a: b}\n")
        self.says("create --validate=false -f -", "configmap/unknown created\n", stdin="apiVersion: v1\n"
                  "kind: ConfigMap\nmetadata: {name: unknown}\ndat: {a: b}\n")
        self.fails("create --validate=false -f -", 'The Deployment "bad" is invalid',
                   "* spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                   "`selector` does not match template `labels`",
                   "* spec.template.spec.containers: Required value",
                   stdin="apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bad}\nspec: {replicas: -1, "
                   "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, spec: {containers: []}}}")
        self.fails("apply -f -", 'no matches for kind "Foo" in version "nosuch/v1"',
                   stdin="apiVersion: nosuch/v1\nkind: Foo\nmetadata: {name: x}\n")
        self.shows("create configmap dry --from-literal=a=1 --dry-run=server -o yaml", r"^  name: dry$",
                   r"^  uid: [0-9a-f-]{36}$")
        self.says("create configmap dry --dry-run=server", "configmap/dry created (server dry run)\n")
        self.says("create configmap dry --dry-run=client", "configmap/dry created (dry run)\n")
        self.fails("get configmap dry", 'configmaps "dry" not found')

    # -- get

    def test_04_get(self):
        n = self.ns
        PLATFORM.kubectl("wait", "-n", n, "--for=condition=Ready", "pod/sleeper", "--timeout=120s", tool=self.TOOL)
        self.rows("get pods -l app=sleeper", "NAME|READY|STATUS|RESTARTS|AGE", "sleeper|1/1|Running|0|*")
        self.rows("get pods -o wide -l app=sleeper", "NAME|READY|STATUS|RESTARTS|AGE|IP|NODE|NOMINATED NODE|READINESS GATES",
                  "sleeper|1/1|Running|0|*|*|*|<none>|<none>")
        self.rows("get po -A -l app=sleeper --field-selector=metadata.namespace=" + n,
                  "NAMESPACE|NAME|READY|STATUS|RESTARTS|AGE", n + "|sleeper|1/1|Running|0|*")
        self.rows("get pods -l app=sleeper --show-labels", "NAME|READY|STATUS|RESTARTS|AGE|LABELS",
                  "sleeper|1/1|Running|0|*|app=sleeper")
        self.rows("get pods -l 'app in (sleeper,x),!nope' -L app", "NAME|READY|STATUS|RESTARTS|AGE|APP",
                  "sleeper|1/1|Running|0|*|sleeper")
        self.rows("get pods --no-headers -l app=sleeper", "sleeper|1/1|Running|0|*")
        self.rows("get deployments", "NAME|READY|UP-TO-DATE|AVAILABLE|AGE", "web|*|*|*|*")
        self.shows("get job pi -o wide", r"^NAME +STATUS +COMPLETIONS +DURATION +AGE +CONTAINERS +IMAGES +SELECTOR$",
                   r"^pi +(Running|Complete|SuccessCriteriaMet) +[01]/1 .*pi +perl:5 +batch\.kubernetes\.io/controller-uid=[0-9a-f-]{36}$")
        self.rows("get cm", "NAME|DATA|AGE", "cfg|2|*", "envs|2|*", "files|2|*", "kube-root-ca.crt|1|*", "unknown|0|*")
        self.rows("get secrets", "NAME|TYPE|DATA|AGE", "reg|kubernetes.io/dockerconfigjson|1|*", "sec|Opaque|2|*",
                  "tls|kubernetes.io/tls|2|*")
        self.rows("get sa", "NAME|SECRETS|AGE", "default|0|*", "robot|0|*")
        self.rows("get svc", "NAME|TYPE|CLUSTER-IP|EXTERNAL-IP|PORT(S)|AGE", "s1|ClusterIP|*|<none>|80/TCP|*",
                  "s2|NodePort|*|<none>|*|*", "s3|LoadBalancer|*|<pending>|*|*",
                  "s4|ExternalName|<none>|example.com|<none>|*", "websvc|ClusterIP|*|<none>|80/TCP|*")
        self.shows("get svc s2", r"^s2 .* " + PORTS)
        self.rows("get rolebinding -o wide", "NAME|ROLE|AGE|USERS|GROUPS|SERVICEACCOUNTS",
                  "reader|Role/reader|*|%s/robot" % n)
        self.rows("get role", "NAME|CREATED AT", "reader|*")
        self.rows("get ingress", "NAME|CLASS|HOSTS|ADDRESS|PORTS|AGE", "web|nginx|foo.com|80|*")
        self.rows("get hpa", "NAME|REFERENCE|TARGETS|MINPODS|MAXPODS|REPLICAS|AGE",
                  "web|Deployment/web|cpu: <unknown>/80%|1|5|2|*")
        self.rows("get ns " + n, "NAME|STATUS|AGE", n + "|Active|*")
        self.rows("get nodes", "NAME|STATUS|ROLES|AGE|VERSION", "fake-0|Ready|<none>|*|v1.34.1+hekla-fake",
                  "fake-1|Ready|<none>|*|v1.34.1+hekla-fake")
        self.rows("get pc %s-high" % n, "NAME|VALUE|GLOBAL-DEFAULT|AGE|PREEMPTIONPOLICY",
                  n + "-high|1000|false|*|PreemptLowerPriority")
        self.rows("get clusterrolebinding %s-jane -o wide" % n, "NAME|ROLE|AGE|USERS|GROUPS|SERVICEACCOUNTS",
                  "%s-jane|ClusterRole/%s-nodes|*|jane|devs" % (n, n))
        if self.modern:
            self.rows("get pdb", "NAME|MIN AVAILABLE|MAX UNAVAILABLE|ALLOWED DISRUPTIONS|AGE", "pdb|1|N/A|*|*")
            self.rows("get cronjob", "NAME|SCHEDULE|TIMEZONE|SUSPEND|ACTIVE|LAST SCHEDULE|AGE",
                      "tick|0 3 29 2 *|<none>|False|0|<none>|*")
        self.shows("get all", r"^pod/sleeper ", r"^service/s1 ", r"^deployment\.apps/web ",
                   r"^horizontalpodautoscaler\.autoscaling/web ", r"^job\.batch/pi ")
        self.shows("get quota", r"^NAME +(AGE +)?REQUEST +LIMIT")

    def test_05_get_output_forms(self):
        n = self.ns
        self.shows("get deploy web -o yaml", r"^apiVersion: apps/v1$", r"^kind: Deployment$",
                   r"^      maxUnavailable: 25%$", r"^  progressDeadlineSeconds: 600$")
        web = json.loads(self.ok("get deploy web -o json").stdout)
        self.assertEqual(web["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"], "IfNotPresent")
        listed = json.loads(self.ok("get cm -o json").stdout)
        self.assertEqual((listed["kind"], listed["apiVersion"]), ("List", "v1"))
        self.assertEqual({item["kind"] for item in listed["items"]}, {"ConfigMap"})
        self.says("get deploy web -o jsonpath='{.spec.template.spec.containers[0].image}'", "nginx:1.25")
        self.says("get cm -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'",
                  "cfg\nenvs\nfiles\nkube-root-ca.crt\nunknown\n")
        self.says("get deploy web -o go-template='{{.metadata.name}} {{.spec.replicas}}'", "web 2")
        self.says("get deploy web -o custom-columns=NAME:.metadata.name,REPLICAS:.spec.replicas",
                  "NAME   REPLICAS\nweb    2\n")
        self.says("get deploy/web svc/s1 -o name", "deployment.apps/web\nservice/s1\n")
        self.says("get cm --sort-by=.metadata.creationTimestamp -o name",
                  self.ok("get cm --sort-by=.metadata.creationTimestamp -o name --chunk-size=1").stdout)
        self.rows("get cm --sort-by=.metadata.name --no-headers", "cfg|2|*", "envs|2|*", "files|2|*",
                  "kube-root-ca.crt|1|*", "unknown|0|*")
        self.rows("get secrets --field-selector=type=Opaque", "NAME|TYPE|DATA|AGE", "sec|Opaque|2|*")
        self.says("get pods -l app=sleeper --field-selector=status.phase=Running,spec.nodeName!=nowhere -o name", "pod/sleeper\n")
        self.fails("get pods --field-selector=spec.bogus=1", "field label not supported: spec.bogus")
        self.fails("get pods -l 'app in (once'", "unable to parse requirement: found '', expected: ',' or ')'")
        self.fails("get pods nope", 'Error from server (NotFound): pods "nope" not found')
        self.says("get pods nope --ignore-not-found", "")
        self.assertEqual(self.ok("get ds").stderr, "No resources found in %s namespace.\n" % n)
        self.says("get cm --chunk-size=1 -o name", "configmap/cfg\nconfigmap/envs\nconfigmap/files\n"
                  "configmap/kube-root-ca.crt\nconfigmap/unknown\n")
        self.says("get -f - -o name", "deployment.apps/web\n", stdin=json.dumps(web))
        self.says("get secret sec -o jsonpath='{.data.pw}'", "czNjcmV0")
        if self.minor >= 24:
            self.says("get deploy web --subresource=scale -o jsonpath='{.kind} {.spec.replicas}'", "Scale 2")
            self.shows("get deploy web --subresource=status", r"^web +\d/2 ")

    def test_06_watch(self):
        seen = self.watching("get", "cm", "-w", "-l", "watched", "-o", "name")
        self.ok("create configmap watched-1")
        self.ok("label cm watched-1 watched=yes")
        self.assertEqual(put.line_of(seen), "configmap/watched-1\n")
        self.ok("delete cm watched-1")
        self.assertEqual(put.line_of(seen), "configmap/watched-1\n")
        if self.modern:
            self.shows("get cm cfg -w --request-timeout=10s", r"^NAME +DATA +AGE$", r"^cfg +2 ")

    # -- apply and its relatives

    def test_07_apply(self):
        self.file("app.yaml", APP + "---" + CONFIG)
        self.file("app2.yaml", (APP + "---" + CONFIG).replace("replicas: 1", "replicas: 3").replace("k: v", "k: w"))
        self.says("apply -f app.yaml", "deployment.apps/app created\nconfigmap/settings created\n")
        self.says("apply -f app.yaml", "deployment.apps/app unchanged\nconfigmap/settings unchanged\n")
        done = self.run_kubectl("diff -f app2.yaml")
        self.assertEqual(done.returncode, 1, done.stderr)
        for line in ["-  replicas: 1\n", "+  replicas: 3\n", "-  k: v\n", "+  k: w\n"]:
            self.assertIn(line, done.stdout)
        self.says("diff -f app.yaml", "")
        self.says("apply -f app2.yaml --dry-run=server",
                  "deployment.apps/app configured (server dry run)\nconfigmap/settings configured (server dry run)\n")
        self.says("apply -f app2.yaml", "deployment.apps/app configured\nconfigmap/settings configured\n")
        self.shows("apply view-last-applied deployment app", r"^  replicas: 3$")
        self.says("apply set-last-applied -f app.yaml", "deployment.apps/app configured\nconfigmap/settings configured\n")
        self.says("apply -f app2.yaml", "deployment.apps/app configured\nconfigmap/settings configured\n")
        self.file("conf.yaml", CONFIG.replace("settings", "pruned"))
        self.says("apply -f conf.yaml", "configmap/pruned created\n")
        pruned = self.ok("apply --prune -l part=app -f app2.yaml "
                         + ("--prune-allowlist" if self.minor >= 26 else "--prune-whitelist") + "=core/v1/ConfigMap")
        self.assertEqual(pruned.stdout, "deployment.apps/app unchanged\nconfigmap/settings unchanged\n"
                         "configmap/pruned pruned\n")
        self.says("delete -f app2.yaml --wait=true",
                  'deployment.apps "app" deleted\nconfigmap "settings" deleted\n')

    def test_08_server_side_apply(self):
        both = "deployment.apps/app serverside-applied\nconfigmap/settings serverside-applied\n"
        self.says("apply --server-side -f app.yaml", both)
        self.fails("apply --server-side --field-manager=other -f app2.yaml",
                   'Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas',
                   'Apply failed with 1 conflict: conflict with "kubectl": .data.k')
        self.says("apply --server-side --field-manager=other --force-conflicts -f app2.yaml", both)
        self.fails("apply --server-side -f app.yaml", 'conflict with "other": .spec.replicas')
        managers = json.loads(self.ok("get deploy app -o json%s" % (
            " --show-managed-fields" if self.modern else "")).stdout)["metadata"]["managedFields"]
        self.assertEqual({(m["manager"], m["operation"]) for m in managers if m["operation"] == "Apply"},
                         {("kubectl", "Apply"), ("other", "Apply")})
        self.file("app3.yaml", APP.replace("  replicas: 1\n", ""))
        self.says("apply --server-side --field-manager=other -f app3.yaml", "deployment.apps/app serverside-applied\n")
        self.says("get deploy app -o jsonpath='{.spec.replicas}'", "1")  # nobody owns it: the default again
        done = self.run_kubectl("diff --server-side -f app2.yaml --force-conflicts" if self.modern
                                else "diff --server-side -f app2.yaml")
        self.assertIn("+  replicas: 3\n", done.stdout, done.stderr)
        if self.modern:  # from client-side to server-side apply
            self.says("apply -f conf.yaml", "configmap/pruned created\n")
            self.says("apply --server-side -f conf.yaml", "configmap/pruned serverside-applied\n")
            self.says("apply --server-side -f -", "configmap/pruned serverside-applied\n",
                      stdin=CONFIG.replace("settings", "pruned").replace("k: v", "other: v"))
            self.says("get cm pruned -o jsonpath='{.data}'", '{"other":"v"}')

    def test_09_edit_replace_kustomize(self):
        self.says("edit deployment app", "deployment.apps/app edited\n", env={"EDITOR": "sed -i 's/img:1/img:2/'"})
        self.says("get deployment app -o jsonpath='{.spec.template.spec.containers[0].image}'", "img:2")
        self.assertEqual(self.ok("edit deployment app", env={"EDITOR": "true"}).stderr,
                         "Edit cancelled, no changes made.\n")
        # A status between kubectl's look and its write is a conflict, here as on any server.
        put.wait_for("a replacement of a deployment at rest", lambda: self.run_kubectl(
            "replace -f app2.yaml").stdout == "deployment.apps/app replaced\nconfigmap/settings replaced\n")
        self.says("replace --force -f app2.yaml", 'deployment.apps "app" deleted\nconfigmap "settings" deleted\n'
                  "deployment.apps/app replaced\nconfigmap/settings replaced\n")
        self.fails("replace -f -", 'configmaps "absent" not found',
                   stdin="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: absent}\n")
        os.makedirs(os.path.join(self.directory, "kz"), exist_ok=True)
        self.file("kz/app.yaml", APP)
        self.file("kz/kustomization.yaml", "resources: [app.yaml]\nnamePrefix: kz-\n")
        self.says("apply -k kz", "deployment.apps/kz-app created\n")
        self.says("get -k kz -o name", "deployment.apps/kz-app\n")
        self.says("delete -k kz", 'deployment.apps "kz-app" deleted\n')

    # -- changing things

    def test_10_patch(self):
        line = "patch deployment app "
        self.says(line + """-p '{"spec":{"replicas":4}}'""", "deployment.apps/app patched\n")
        # The controller's status may come between kubectl's look and its patch, which is then a change.
        put.wait_for("a patch that changes nothing", lambda: self.ok(
            line + """-p '{"spec":{"replicas":4}}'""").stdout == "deployment.apps/app patched (no change)\n")
        self.says(line + """-p '{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"E","value":"1"}]}"""
                  """]}}}}'""", "deployment.apps/app patched\n")
        self.says("get deployment app -o jsonpath='{.spec.template.spec.containers[0].image}'", "img:1")
        self.says(line + """--type=merge -p '{"metadata":{"labels":{"x":"y"}}}'""", "deployment.apps/app patched\n")
        self.says(line + """--type=json -p '[{"op":"replace","path":"/spec/replicas","value":5}]'""",
                  "deployment.apps/app patched\n")
        self.fails(line + """--type=json -p '[{"op":"replace","path":"/spec/nope/x","value":5}]'""",
                   "The request is invalid")
        self.fails(line + """--type=json -p '[{"op":"test","path":"/spec/replicas","value":9}]'""",
                   "The request is invalid")
        self.fails(line + """-p '{"spec":{"replicas":"x"}}'""", "patch: Invalid value:", "unrecognized type: int32")
        self.fails("patch deployment nope -p '{}'", 'deployments.apps "nope" not found')
        self.fails(line + """-p '{"spec":{"selector":{"matchLabels":{"app":"z"}}}}'""", "field is immutable")
        if self.minor >= 24:
            self.says(line + """--subresource=status --type=merge -p '{"status":{"observedGeneration":9}}'""",
                      "deployment.apps/app patched\n")
            self.says(line + """--subresource=scale --type=merge -p '{"spec":{"replicas":2}}'""",
                      "scale.autoscaling/app patched\n")

    def test_11_label_annotate_scale_set(self):
        self.says("label deployment app tier=front", "deployment.apps/app labeled\n")
        self.fails("label deployment app tier=back", "'tier' already has a value (front), and --overwrite is false")
        self.says("label deployment app tier=back --overwrite", "deployment.apps/app labeled\n")
        self.says("label deployment app tier-", "deployment.apps/app %s\n" % ("unlabeled" if self.modern else "labeled"))
        self.shows("label cm --all all=yes", r"^configmap/cfg labeled$")
        self.fails("label cm cfg 'bad key=1'", "name part must consist of alphanumeric characters")
        self.says("annotate deployment app note=hi", "deployment.apps/app annotated\n")
        self.says("annotate deployment app note-", "deployment.apps/app annotated\n")
        self.says("scale deployment app --replicas=2", "deployment.apps/app scaled\n")
        self.fails("scale deployment app --replicas=3 --current-replicas=9", "xpected replicas to be 9, was 2")
        self.says("scale deployment app --replicas=3 --current-replicas=2", "deployment.apps/app scaled\n")
        self.says("get deployment app -o jsonpath='{.spec.replicas}'", "3")
        self.says("set image deployment/app c=img:3", "deployment.apps/app image updated\n")
        self.says("set env deployment/app A=1 B=2", "deployment.apps/app env updated\n")
        self.says("set env deployment/app --list", "# Deployment app, container c\nE=1\nA=1\nB=2\n")
        self.says("set env deployment/app A-", "deployment.apps/app env updated\n")
        self.says("set env deployment/app --from=configmap/cfg --prefix=X_", "deployment.apps/app env updated\n")
        self.says("set resources deployment app -c=c --limits=cpu=200m,memory=512Mi",
                  "deployment.apps/app resource requirements updated\n")
        self.says("get deployment app -o jsonpath='{.spec.template.spec.containers[0].resources.requests}'",
                  '{"cpu":"200m","memory":"512Mi"}')
        self.says("set serviceaccount deployment app default", "deployment.apps/app serviceaccount updated\n")
        self.says("set selector service s1 app=other", "service/s1 selector updated\n")
        self.says("set subject rolebinding reader --user=bob",
                  "rolebinding.rbac.authorization.k8s.io/reader subjects updated\n")

    def test_12_nodes(self):
        self.says("taint node fake-0 dedicated=gpu:NoSchedule", "node/fake-0 tainted\n")
        self.says("get node fake-0 -o jsonpath='{.spec.taints}'",
                  '[{"effect":"NoSchedule","key":"dedicated","value":"gpu"}]')
        self.says("taint node fake-0 dedicated:NoSchedule-", "node/fake-0 untainted\n")
        self.says("cordon fake-0", "node/fake-0 cordoned\n")
        self.rows("get node fake-0", "NAME|STATUS|ROLES|AGE|VERSION", "fake-0|Ready,SchedulingDisabled|<none>|*|*")
        self.says("uncordon fake-0", "node/fake-0 uncordoned\n")
        self.says("label node fake-0 node-role.kubernetes.io/worker=", "node/fake-0 labeled\n")
        self.rows("get node fake-0", "NAME|STATUS|ROLES|AGE|VERSION", "fake-0|Ready|worker|*|*")
        self.ok("label node fake-0 node-role.kubernetes.io/worker-")
        self.shows("describe node fake-0", r"^Name: +fake-0$", r"^Taints: +<none>$", r"^  Ready +True ",
                   r"^  cpu: +32$")

    def test_13_rollout(self):
        self.shows("rollout history deployment app", r"^deployment\.apps/app")
        self.says("rollout restart deployment app", "deployment.apps/app restarted\n")
        self.shows("get deployment app -o yaml", r"kubectl\.kubernetes\.io/restartedAt:")
        self.says("rollout pause deployment app", "deployment.apps/app paused\n")
        self.fails("rollout pause deployment app", "already paused")
        self.says("rollout resume deployment app", "deployment.apps/app resumed\n")
        self.fails("rollout status deployment nope", 'deployments.apps "nope" not found')

    def test_14_wait(self):
        self.says("wait --for=condition=Ready pod/sleeper --timeout=120s", "pod/sleeper condition met\n")
        self.fails("wait --for=condition=Nope pod/sleeper --timeout=1s", "timed out waiting for the condition on pods/")
        self.fails("wait --for=condition=Ready pod/nope --timeout=1s", 'pods "nope" not found')
        if self.minor >= 23:
            self.says("wait --for=jsonpath='{.status.phase}'=Running pod/sleeper --timeout=120s",
                      "pod/sleeper condition met\n")
        self.ok("create configmap shortlived")
        waiting = self.watching("wait", "--for=delete", "cm/shortlived", "--timeout=120s")
        self.assertIsNone(waiting.poll())
        self.says("delete cm shortlived", 'configmap "shortlived" deleted\n')
        self.assertEqual(waiting.communicate(timeout=put.PATIENCE)[0], "configmap/shortlived condition met\n")

    # -- describe and explain

    def test_15_describe(self):
        n = self.ns
        self.shows("describe deployment web", r"^Replicas: +2 desired", r"^RollingUpdateStrategy: +25% max unavailable",
                   r"^ +Image: +nginx:1\.25$")
        self.shows("describe pod sleeper", r"^Status: +Running$", r"^QoS Class: +BestEffort$",
                   r"Normal +Scheduled .*Successfully assigned %s/sleeper to fake-" % n)
        self.shows("describe job pi", r"^Parallelism: +1$", r"^Completions: +1$", r"job-name=pi$")
        self.shows("describe cm cfg", r"^a:\n----\n1\n", r"^b:\n----\ntwo\n")
        self.shows("describe secret sec", r"^Type: +Opaque$", r"^pw: +6 bytes$")
        self.shows("describe sa robot", r"^Name: +robot$", r"^Image pull secrets: +<none>$")  # 1.37 says no more
        self.shows("describe role reader", r"^  pods/log +\[\] +\[\] +\[get list watch\]$")
        self.shows("describe rolebinding reader", r"^  ServiceAccount +robot +%s$" % n, r"^  User +bob")
        self.shows("describe ingress web", r"^ +/bar +web:80")
        self.shows("describe svc s2", r"^Type: +NodePort$", r"^NodePort: .*80-8080 +3\d{4}/TCP$")
        self.shows("describe hpa web", r"^Reference: +Deployment/web$", r"^Max replicas: +5$")
        self.shows("describe ns " + n, r"^Status: +Active$", r"Resource Quotas")
        self.shows("describe pc %s-high" % n, r"^Value: +1000$", r"^Description: +high$")
        self.shows("describe clusterrole %s-nodes" % n, r"^  nodes +\[\] +\[\] +\[get\]$")
        self.shows("describe queue default", r"^Kind: +Queue$", r"^  State: +Open$")
        self.shows("describe quota q", r"^Name: +q$")
        self.fails("describe pod nope", 'pods "nope" not found')
        self.shows("describe pod slee", r"^Name: +sleeper$")  # by prefix
        if self.modern:
            self.shows("describe cronjob tick", r"^Schedule: +0 3 29 2 \*$", r"^Concurrency Policy: +Allow$")
            self.shows("describe pdb pdb", r"^Min available: +1$")

    def test_16_explain(self):
        self.shows("explain pod.spec.containers.resources", r"limits\s+<map\[string\]", r"claims\s+<\[\]")
        self.shows("explain deployment --recursive", r"^ +maxUnavailable\s+<")
        self.shows("explain vcjob", r"KIND: +Job$", r"What to run\.")
        self.shows("explain vcjob.spec.tasks", r"replicas\s+<integer>")
        self.shows("explain queue.spec --recursive", r"reclaimable\s+<boolean>")
        self.shows("explain podgroups.spec.minMember", r"minMember <integer>", r"placed together or not at all")
        self.shows("explain hpa --api-version=autoscaling/v1", r"VERSION: +(autoscaling/)?v1$")
        self.fails("explain pod.nosuch", 'field "nosuch" does not exist')
        self.fails("explain nosuch", "nosuch")

    def test_17_custom_resources(self):
        group = "%s.example.com" % self.ns
        self.says("create -f -", "customresourcedefinition.apiextensions.k8s.io/widgets.%s created\n" % group,
                  stdin=WIDGETS.replace("GROUP", group))
        self.says("wait --for=condition=Established crd/widgets.%s --timeout=120s" % group,
                  "customresourcedefinition.apiextensions.k8s.io/widgets.%s condition met\n" % group)
        widget = "apiVersion: %s/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n" % group
        name = "widget.%s/w" % group
        widgets = "widgets." + group
        self.says("apply -f -", name + " created\n", stdin=widget)
        self.says("apply -f -", name + " unchanged\n", stdin=widget)
        self.says("apply -f -", name + " configured\n", stdin=widget.replace("size: 3", "size: 4"))
        self.rows("get " + widgets, "NAME|SIZE", "w|4")
        self.rows("get %s -o wide" % widgets, "NAME|SIZE|COLOUR", "w|4|red")
        self.shows("get all", r"^widget\.%s/w " % re.escape(group))
        self.says("scale --replicas=7 " + name, name + " scaled\n")
        self.says("get %s -o jsonpath='{.spec}'" % name, '{"colour":"red","size":7}')
        self.says("""patch %s --type=merge -p '{"spec":{"colour":"blue"}}'""" % name, name + " patched\n")
        self.fails("""patch %s --type=strategic -p '{"spec":{"colour":"blue"}}'""" % name,
                   "the body of the request was in an unknown format")
        self.fails("""patch %s --type=merge -p '{"spec":{"colour":"green"}}'""" % name,
                   'spec.colour: Unsupported value: "green": supported values: "red", "blue"')
        self.fails("create --validate=false -f -", "spec.size: Required value",
                   stdin="apiVersion: %s/v1\nkind: Widget\nmetadata: {name: v}\nspec: {}\n" % group)
        self.fails("create -f -", 'unknown field "spec.weight"' if self.modern else 'unknown field "weight"',
                   stdin="apiVersion: %s/v1\nkind: Widget\nmetadata: {name: v}\nspec: {size: 1, weight: 2}\n" % group)
        self.shows("explain widgets.spec --api-version=%s/v1" % group, r"size\s+<integer>", r"How big it is\.")
        self.shows("describe " + name, r"^Kind: +Widget$", r"^  Size: +7$")
        self.says("label %s a=b" % name, name + " labeled\n")
        self.says("delete " + name, 'widget.%s "w" deleted\n' % group)
        self.says("delete crd widgets." + group,
                  'customresourcedefinition.apiextensions.k8s.io "widgets.%s" deleted\n' % group)
        self.fails("get " + widgets, "the server doesn't have a resource type")

    # -- a user of volcano jobs

    def test_18_vcjob_user(self):
        queue = self.ns + "-q"
        self.says("apply -f -", "queue.scheduling.volcano.sh/%s created\n" % queue, stdin=(
            "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\n"
            "spec: {weight: 2, reclaimable: true, capability: {cpu: 8}}\n" % queue))
        self.rows("get queue " + queue, "NAME|AGE|PARENT", queue + "|*|root")
        self.says("get q %s -o jsonpath='{.spec.weight} {.spec.parent}'" % queue, "2 root")
        self.says("create -f -", "job.batch.volcano.sh/train created\n", stdin=TRAINING.replace("QUEUE", queue))
        put.wait_for("the job runs", lambda: self.ok("get vcjob train -o jsonpath='{.status.state.phase}'").stdout
                     == "Running")
        self.rows("get vcjob", "NAME|STATUS|MINAVAILABLE|RUNNINGS|AGE", "train|Running|2|2|*")
        self.rows("get vj train -o wide", "NAME|STATUS|MINAVAILABLE|RUNNINGS|AGE|QUEUE", "train|Running|2|2|*|" + queue)
        self.shows("get jobs.batch.volcano.sh train -o yaml", r"^  queue: " + queue, r"^  minAvailable: 2$")
        self.says("get pods -l volcano.sh/job-name=train -o name", "pod/train-worker-0\npod/train-worker-1\n")
        self.shows("get podgroup", r"^train-[0-9a-f-]{36} +Running +2 +2 ")
        self.shows("get pg -o wide", r"QUEUE", queue)
        self.shows("describe vcjob train", r"^  Min Available: +2$", r"^    Phase: +Running$")
        self.shows("describe queue " + queue, r"^  Weight: +2$")
        self.shows("get events --field-selector=involvedObject.name=train-worker-0", r"Successfully assigned")
        self.fails("patch vcjob train --type=merge -p '{\"spec\":{\"queue\":\"other\"}}'", "denied the request")
        self.says("annotate vcjob train who=me", "job.batch.volcano.sh/train annotated\n")
        self.says("delete vcjob train", 'job.batch.volcano.sh "train" deleted\n')
        put.wait_for("its pods are gone", lambda: not self.ok(
            "get pods,podgroups -l volcano.sh/job-name=train -o name").stdout)
        self.says("delete queue " + queue, 'queue.scheduling.volcano.sh "%s" deleted\n' % queue)

    # -- who may do what

    def test_19_auth(self):
        self.says("auth can-i create pods", "yes\n")
        self.shows("auth can-i --list", r"^\*\.\* +\[\] +\[\] +\[\*\]$")
        if self.minor >= 28:
            self.shows("auth whoami", r"^Username +kubernetes-admin$", r"^Groups +\[system:masters ")

    def test_20_events(self):
        self.shows("get events", r"^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE$", r"Scheduled +pod/sleeper ")
        self.shows("get events.v1.events.k8s.io -o name", r"^event\.events\.k8s\.io/sleeper\.")
        if self.minor >= 26:
            self.shows("events --for pod/sleeper", r"Scheduled +Pod/sleeper ")

    # -- delete

    def test_21_delete(self):
        self.says("delete cm envs --dry-run=server", 'configmap "envs" deleted (server dry run)\n')
        self.says("delete cm envs files", 'configmap "envs" deleted\nconfigmap "files" deleted\n')
        self.says("delete cm envs --ignore-not-found", "")
        self.fails("delete cm envs", 'configmaps "envs" not found')
        self.says("delete svc -l app=s2", 'service "s2" deleted\n')
        self.says("delete job pi --cascade=foreground", 'job.batch "pi" deleted\n')
        self.says("delete deployment web --cascade=orphan", 'deployment.apps "web" deleted\n')
        self.says("delete deployment app --cascade=background --wait=false", 'deployment.apps "app" deleted\n')
        forced = self.ok("delete pod sleeper --grace-period=0 --force")
        self.assertEqual(forced.stdout, 'pod "sleeper" force deleted\n')
        self.assertIn("Immediate deletion does not wait", forced.stderr)
        self.says("delete secret/sec sa/robot", 'secret "sec" deleted\nserviceaccount "robot" deleted\n')
        self.says("delete cm --field-selector=metadata.name=cfg", 'configmap "cfg" deleted\n')
        self.says("delete --raw /api/v1/namespaces/%s/configmaps/unknown" % self.ns,
                  self.deleted_status("configmaps", "unknown"))
        self.says("delete ns %s-extra" % self.ns, 'namespace "%s-extra" deleted\n' % self.ns)
        self.fails("get ns %s-extra" % self.ns, "not found")
        self.fails("delete ns default", "this namespace may not be deleted")

    def deleted_status(self, resource, name):
        uid = self.ok("get %s %s -o jsonpath='{.metadata.uid}'" % (resource, name)).stdout
        return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                           "details": {"name": name, "kind": resource, "uid": uid}}, separators=(",", ":")) + "\n"

    def test_99_enough(self):
        self.assertGreater(self.commands, 120)


for index, tool in enumerate(put.kubectls()):
    name = "KubectlTour%d" % index
    globals()[name] = type(name, (Tour, unittest.TestCase), {"TOOL": tool, "__doc__": tool, "__module__": __name__})

if __name__ == "__main__":
    unittest.main()
