"""What is asked of both servers: for each kind, every verb in its good and bad forms, in one order, so that both see the same history."""
import copy

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
PARTIAL_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
NAMESPACE = "diff"


class Case:
    """One request. `body` may be a function of the live object, as this server last answered GET for it."""

    def __init__(self, name, method, path, body=None, headers=None, live=None):
        self.name = name
        self.method = method
        self.path = path
        self.body = body
        self.headers = headers
        self.live = live


def fill(value):
    if isinstance(value, dict):
        return {k: fill(v) for k, v in value.items()}
    if isinstance(value, list):
        return [fill(v) for v in value]
    return NAMESPACE if value == "NAMESPACE" else value


def with_meta(entry, name, **meta):
    made = fill(copy.deepcopy(entry["object"]))
    made["metadata"] = dict({"name": name}, **meta)
    return {k: v for k, v in made.items() if v is not None}


def merged(base, patch):
    result = copy.deepcopy(base)
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def changed(**changes):
    def change(live):
        result = copy.deepcopy(live)
        for key, value in changes.items():
            if value is None:
                result["metadata"].pop(key, None)
            else:
                result["metadata"][key] = value
        return result
    return change


def cases_of(entry):
    base = entry["path"] + ("" if entry.get("cluster") else "/namespaces/" + NAMESPACE) + "/" + entry["resource"]
    everywhere = entry["path"] + "/" + entry["resource"]
    name = entry.get("name", "one")
    one = base + "/" + name
    kind = entry["path"].removeprefix("/apis/").removeprefix("/api/") + "/" + entry["resource"]
    good = with_meta(entry, name, labels={"mark": "x"})
    custom = entry["path"].endswith("example.org/v1")
    yield from (Case("%s: %s" % (kind, label), *rest) for label, *rest in [
        ("create dry", "POST", base + "?dryRun=All", good),
        ("create dry bad", "POST", base + "?dryRun=Some", good),
        ("create strict unknown", "POST", base + "?fieldValidation=Strict", merged(good, {"nosuch": 1})),
        ("create strict duplicate", "POST", base + "?fieldValidation=Strict",
         '{"apiVersion":"%s","apiVersion":"%s","kind":"%s","metadata":{"name":"d"}}' % (
             good["apiVersion"], good["apiVersion"], good["kind"])),
        ("create warn unknown", "POST", base + "?fieldValidation=Warn&dryRun=All", merged(good, {"nosuch": 1})),
        ("create validation bad", "POST", base + "?fieldValidation=Often", good),
        ("create wrong type", "POST", base, merged(good, entry["wrong"])),
        ("create labels wrong type", "POST", base, merged(good, {"metadata": {"labels": {"mark": 1}}})),
        ("create bad label", "POST", base, merged(good, {"metadata": {"labels": {"mark": "not ok"}}})),
        ("create bad annotation", "POST", base, merged(good, {"metadata": {"annotations": {"not ok": "x"}}})),
        ("create no name", "POST", base, merged(good, {"metadata": {"name": ""}})),
        ("create bad name", "POST", base, merged(good, {"metadata": {"name": "Not_OK"}})),
        ("create versioned", "POST", base, merged(good, {"metadata": {"resourceVersion": "5"}})),
        ("create wrong kind", "POST", base, merged(good, {"kind": "Nosuch"})),
        ("create other kind", "POST", base, {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "b"}}),
        ("create wrong version", "POST", base, merged(good, {"apiVersion": "nosuch/v9"})),
        ("create no kind", "POST", base, {k: v for k, v in good.items() if k not in ("kind", "apiVersion")}),
        ("create empty", "POST", base, ""),
        ("create no json", "POST", base, "{not json"),
        ("create text", "POST", base, "x", {"Content-Type": "text/plain"}),
        ("create wrong namespace", "POST", base, merged(good, {"metadata": {"namespace": "elsewhere"}})),
        ("create missing namespace", "POST", base.replace("/namespaces/" + NAMESPACE, "/namespaces/nowhere"), good)
        if not entry.get("cluster") else ("get as text", "GET", base, None, {"Accept": "text/plain"}),
        ("create manager too long", "POST", base + "?dryRun=All&fieldManager=" + "m" * 129, good),
        ("create bad owner", "POST", base, merged(good, {"metadata": {"ownerReferences": [{"kind": "X"}]}})),
        ("create bad finalizer", "POST", base, merged(good, {"metadata": {"finalizers": ["not ok"]}})),
        ("create", "POST", base, good),
        ("create again", "POST", base, good),
        ("get", "GET", one),
        ("get missing", "GET", base + "/missing"),
        ("get table", "GET", one, None, TABLE),
        ("get partial", "GET", one, None, PARTIAL),
        ("get yaml", "GET", one, None, {"Accept": "application/yaml"}),
        ("get not acceptable", "GET", one, None, {"Accept": "text/plain"}),
        ("get future version", "GET", one + "?resourceVersion=bogus"),
        ("get unknown subresource", "GET", one + "/nosuch"),
        ("list", "GET", base + "?labelSelector=mark=x"),
        ("list everywhere", "GET", everywhere + "?labelSelector=mark=x"),
        ("list table", "GET", base + "?labelSelector=mark=x", None, TABLE),
        ("list partial", "GET", base + "?labelSelector=mark=x", None, PARTIAL_LIST),
        ("list by name", "GET", base + "?fieldSelector=metadata.name=" + name),
        ("list bad label selector", "GET", base + "?labelSelector=a%20in%20(b"),
        ("list bad label value", "GET", base + "?labelSelector=a%3Dnot%20ok"),
        ("list bad field selector", "GET", base + "?fieldSelector=spec.nosuch=1"),
        ("list malformed field selector", "GET", base + "?fieldSelector=metadata.name"),
        ("list bad limit", "GET", base + "?limit=x"),
        ("list negative limit", "GET", base + "?limit=-1&labelSelector=mark=x"),
        ("list bad version", "GET", base + "?resourceVersion=bogus"),
        ("list bad continue", "GET", base + "?limit=1&continue=bogus"),
        ("list match without version", "GET", base + "?resourceVersionMatch=Exact"),
        ("list bad match", "GET", base + "?resourceVersion=1&resourceVersionMatch=Perhaps"),
        ("list exact zero", "GET", base + "?resourceVersion=0&resourceVersionMatch=Exact"),
        ("list initial events", "GET", base + "?sendInitialEvents=true"),
        ("watch bad version", "GET", base + "?watch=true&resourceVersion=bogus"),
        ("watch bad selector", "GET", base + "?watch=true&fieldSelector=spec.nosuch=1"),
        ("watch initial without match", "GET", base + "?watch=true&sendInitialEvents=true"),
        ("watch", "GET", base + "?watch=true&timeoutSeconds=1&labelSelector=mark=x"),
        ("update unchanged", "PUT", one, lambda live: live, None, one),
        ("update label", "PUT", one, changed(labels={"mark": "x", "more": "y"}), None, one),
        ("update stale", "PUT", one, changed(resourceVersion="1"), None, one),
        ("update bad version", "PUT", one, changed(resourceVersion="bogus"), None, one),
        ("update unversioned", "PUT", one, changed(resourceVersion=None), None, one),
        ("update other name", "PUT", one, changed(name="other"), None, one),
        ("update other uid", "PUT", one, changed(uid="11111111-1111-1111-1111-111111111111"), None, one),
        ("update missing", "PUT", base + "/missing-update?dryRun=All",
         with_meta(entry, "missing-update")),
        ("update wrong kind", "PUT", one, merged(good, {"kind": "Nosuch"})),
        ("update wrong type", "PUT", one, merged(good, entry["wrong"])),
        ("update unknown strict", "PUT", one + "?fieldValidation=Strict", lambda live: merged(live, {"nosuch": 1}),
         None, one),
        ("patch merge", "PATCH", one, {"metadata": {"annotations": {"n": "1"}}}, MERGE),
        ("patch merge no change", "PATCH", one, {"metadata": {"annotations": {"n": "1"}}}, MERGE),
        ("patch merge wrong type", "PATCH", one, entry["wrong"], MERGE),
        ("patch merge unknown strict", "PATCH", one + "?fieldValidation=Strict", {"nosuch": 1}, MERGE),
        ("patch merge stale", "PATCH", one, {"metadata": {"resourceVersion": "1", "labels": {"z": "z"}}}, MERGE),
        ("patch merge rename", "PATCH", one, {"metadata": {"name": "other"}}, MERGE),
        ("patch merge uid", "PATCH", one, {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}}, MERGE),
        ("patch merge list", "PATCH", one, [1], MERGE),
        ("patch merge not json", "PATCH", one, "{", MERGE),
        ("patch missing", "PATCH", base + "/missing", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        ("patch strategic", "PATCH", one, {"metadata": {"labels": {"s": "1"}}}, STRATEGIC),
        ("patch strategic wrong type", "PATCH", one, entry["wrong"], STRATEGIC),
        ("patch strategic list", "PATCH", one, [1], STRATEGIC),
        ("patch strategic unknown strict", "PATCH", one + "?fieldValidation=Strict", {"nosuch": 1}, STRATEGIC),
        ("patch strategic delete", "PATCH", one, {"metadata": {"labels": {"s": None}}}, STRATEGIC),
        ("patch json", "PATCH", one, [{"op": "add", "path": "/metadata/labels/j", "value": "1"}], JSON_PATCH),
        ("patch json test fails", "PATCH", one, [{"op": "test", "path": "/metadata/name", "value": "no"}], JSON_PATCH),
        ("patch json missing path", "PATCH", one, [{"op": "remove", "path": "/nosuch/x"}], JSON_PATCH),
        ("patch json bad op", "PATCH", one, [{"op": "sing", "path": "/x"}], JSON_PATCH),
        ("patch json object", "PATCH", one, {"a": 1}, JSON_PATCH),
        ("patch text", "PATCH", one, "x", {"Content-Type": "text/plain"}),
        ("patch json content", "PATCH", one, {}, {"Content-Type": "application/json"}),
        ("apply no manager", "PATCH", one, with_meta(entry, name), APPLY),
        ("apply", "PATCH", one + "?fieldManager=applier", with_meta(entry, name, labels={"ap": "1"}), APPLY),
        ("apply again", "PATCH", one + "?fieldManager=applier", with_meta(entry, name, labels={"ap": "1"}), APPLY),
        ("apply conflict", "PATCH", one + "?fieldManager=second", with_meta(entry, name, labels={"ap": "2"}), APPLY),
        ("apply forced", "PATCH", one + "?fieldManager=second&force=true", with_meta(entry, name, labels={"ap": "2"}),
         APPLY),
        ("apply fewer", "PATCH", one + "?fieldManager=second", with_meta(entry, name), APPLY),
        ("apply managed", "PATCH", one + "?fieldManager=second",
         with_meta(entry, name, managedFields=[{"manager": "x"}]), APPLY),
        ("apply no kind", "PATCH", one + "?fieldManager=second", {"metadata": {"name": name}}, APPLY),
        ("apply yaml broken", "PATCH", one + "?fieldManager=second", "a: [", APPLY),
        ("apply unknown", "PATCH", one + "?fieldManager=second", merged(with_meta(entry, name), {"nosuch": 1}), APPLY),
        ("apply create dry", "PATCH", base + "/applied?fieldManager=applier&dryRun=All", with_meta(entry, "applied"),
         APPLY),
        ("force without apply", "PATCH", one + "?force=true", {}, MERGE),
        ("get managed", "GET", one),
        ("status get", "GET", one + "/status"),
        ("status patch", "PATCH", one + "/status?dryRun=All", {"metadata": {"labels": {"st": "1"}}}, MERGE),
        ("status put unchanged", "PUT", one + "/status", lambda live: live, None, one),
        ("scale get", "GET", one + "/scale"),
        ("scale patch", "PATCH", one + "/scale?dryRun=All", {"spec": {"replicas": 2}}, MERGE),
        ("scale bad", "PATCH", one + "/scale", {"spec": {"replicas": -1}}, MERGE),
        ("post named", "POST", one, good),
        ("put collection", "PUT", base, good),
        ("delete dry", "DELETE", one + "?dryRun=All"),
        ("delete wrong uid", "DELETE", one, {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}}),
        ("delete stale", "DELETE", one, {"preconditions": {"resourceVersion": "1"}}),
        ("delete bad policy", "DELETE", one, {"propagationPolicy": "Sideways"}),
        ("delete two policies", "DELETE", one, {"propagationPolicy": "Orphan", "orphanDependents": True}),
        ("delete bad dry", "DELETE", one + "?dryRun=Some"),
        ("delete wrong body", "DELETE", one, {"gracePeriodSeconds": "x"}),
        ("delete unknown body", "DELETE", one + "?fieldValidation=Strict", "{"),
        ("finalizer add", "PATCH", one, {"metadata": {"finalizers": ["example.com/hold"]}}, MERGE),
        ("delete held", "DELETE", one, {"gracePeriodSeconds": 0}),
        ("finalizer more", "PATCH", one, {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}, MERGE),
        ("finalizer remove", "PATCH", one, {"metadata": {"finalizers": None}}, MERGE),
        ("get deleted", "GET", one),
        ("delete missing", "DELETE", base + "/missing"),
        ("delete collection empty", "DELETE", base + "?labelSelector=mark=nothing"),
        ("delete collection bad", "DELETE", base + "?fieldSelector=spec.nosuch=1"),
    ] if not (custom and label.startswith("scale")))


WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.org"},
    "spec": {"group": "example.org", "scope": "Namespaced",
             "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                           "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                           "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                               "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                               "status": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}}}}]}}


def api_service(name, **spec):
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": name},
            "spec": {"group": "zoo.example.org", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10, **spec}}


def general_cases():
    services = "/apis/apiregistration.k8s.io/v1/apiservices?dryRun=All"
    agree = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}
    return [Case("general: " + label, *rest) for label, *rest in [
        ("unknown path", "GET", "/nosuch"), ("unknown group", "GET", "/apis/nosuch.example.com/v1/things"),
        ("unknown version", "GET", "/apis/apps/v9"), ("unknown resource", "GET", "/api/v1/nosuch"),
        ("unknown namespaced resource", "GET", "/api/v1/namespaces/default/nosuch"),
        ("post unknown resource", "POST", "/api/v1/nosuch", {}),
        ("cluster resource in namespace", "GET", "/api/v1/namespaces/default/nodes"),
        ("create without namespace", "POST", "/api/v1/configmaps", {"apiVersion": "v1", "kind": "ConfigMap",
                                                                   "metadata": {"name": "x"}}),
        ("api", "GET", "/api"), ("group", "GET", "/apis/apps"), ("healthz", "GET", "/healthz"), ("livez", "GET", "/livez"),
        ("readyz", "GET", "/readyz"), ("version post", "POST", "/version", {}),
        ("delete default namespace", "DELETE", "/api/v1/namespaces/default"),
        ("delete kube-system", "DELETE", "/api/v1/namespaces/kube-system"),
        ("review myself", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
         {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        ("may I", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
         {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
          "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
        ("local api service", "POST", services, api_service("v1.zoo.example.org")),
        ("api service", "POST", services, api_service("v1.zoo.example.org", insecureSkipTLSVerify=True,
                                                      service={"namespace": "default", "name": "zoo"})),
        ("api service of no place", "POST", services, api_service("v1.zoo.example.org", service={"port": 0})),
        ("api service of another name", "POST", services, api_service("v2.zoo", groupPriorityMinimum=0, versionPriority=1001)),
        ("api service of a bad version", "POST", services, api_service("1.Zoo", group="Zoo", version="1")),
        ("api service without group", "POST", services, api_service("v2.", group="", version="v2")),
        ("local api service with authority", "POST", services,
         api_service("v1.zoo.example.org", caBundle="eA==", insecureSkipTLSVerify=True)),
        ("api service that trusts too much", "POST", services, api_service(
            "v1.zoo.example.org", caBundle="eA==", insecureSkipTLSVerify=True, service={"namespace": "a", "name": "b"})),
        ("list reviews", "GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("bad token review", "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
         {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "nonsense"}}),
    ]] + [Case("discovery: " + path, "GET", path) for path in [
        "/api/v1", "/apis/apps/v1", "/apis/batch/v1", "/apis/autoscaling/v1", "/apis/autoscaling/v2", "/apis/policy/v1",
        "/apis/networking.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1", "/apis/storage.k8s.io/v1",
        "/apis/coordination.k8s.io/v1", "/apis/discovery.k8s.io/v1", "/apis/events.k8s.io/v1", "/apis/node.k8s.io/v1",
        "/apis/apiextensions.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1", "/apis/scheduling.k8s.io/v1",
        "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1", "/apis/certificates.k8s.io/v1",
        "/apis/flowcontrol.apiserver.k8s.io/v1", "/apis/resource.k8s.io/v1", "/apis/apiregistration.k8s.io/v1"]] + [
        Case("discovery: aggregated core", "GET", "/api", None, agree)]
