#!/usr/bin/env python3
"""Manifests that look like the originals', made from the inventories beside it: kinds, names, images, ports, selectors,
webhooks and CRDs are the originals', everything else is the least that each kind needs.

usage: look_alikes.py INVENTORY DIRECTORY    writes a tree for `kustomize build`, in the places the originals have
An inventory is a list of sections, "= NAME DIRECTORY", with rows of apiVersion, kind, namespace, names and facts, apart by
tabs. What the facts are depends on the kind: see the functions below."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# The other form of the pipelines' section: the deployer makes what these rows declare.
PNS = "apps/pipeline/upstream/env/platform-agnostic-multi-user-pns"
PNS_OF, PNS_DROPS = "026-platform-agnostic-multi-user", ("Certificate", "Issuer", "MutatingWebhookConfiguration")
PNS_ADDS = ("apps/v1", "Deployment", "kubeflow", "cache-deployer-deployment",
            '{"containers":[{"name":"main","image":"gcr.io/ml-pipeline/cache-deployer:2.0.0-alpha.3"}]}')


def crd(name, facts):
    kind, versions, scope, *webhook = facts.split()
    plural, group = name.split(".", 1)
    open_schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    stored = [version for version in versions.split(",") if version.endswith("*")] or [versions.split(",")[0]]
    spec = {"group": group, "scope": scope, "names": {"kind": kind, "listKind": kind + "List", "plural": plural,
                                                      "singular": kind.lower()},
            "versions": [{"name": version.rstrip("*"), "served": True, "storage": version in stored, "schema": open_schema,
                          "subresources": {"status": {}}} for version in versions.split(",")]}
    if webhook:
        service = {"namespace": "cert-manager", "name": "cert-manager-webhook", "path": "/convert"}
        spec["conversion"] = {"strategy": "Webhook", "webhook": {
            "clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}}
    metadata = {"annotations": {"api-approved.kubernetes.io": "unapproved"}} if group.endswith(".k8s.io") else {}
    return {"metadata": metadata, "spec": spec}


def workload(kind, name, facts):
    facts = json.loads(facts)
    labels = facts.get("labels", {"app": name})
    containers = [{**one, "ports": [{"containerPort": port} for port in one.get("ports", [])],
                   "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}} for one in facts["containers"]]
    pod = {"containers": containers, "volumes": [
        {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in facts.get("claims", [])]}
    spec = {"template": {"metadata": {"labels": labels}, "spec": pod}}
    if kind == "Job":
        pod["restartPolicy"] = "Never"
        return {"spec": spec}
    spec["selector"] = {"matchLabels": labels}
    if kind != "DaemonSet":
        spec["replicas"] = facts.get("replicas", 1)
    if kind == "StatefulSet":
        spec["serviceName"] = name
    return {"spec": spec}


def service(facts):
    facts = json.loads(facts) if facts else {"ports": ["http:80->80"]}
    ports = []
    for text in facts["ports"]:
        name, _, numbers = text.partition(":")
        port, _, target = numbers.partition("->")
        ports.append({"port": int(port), "targetPort": int(target) if target.isdigit() else target, **(
            {"name": name} if name else {})})
    return {"spec": {"type": facts.get("type", "ClusterIP"), "ports": ports, "selector": facts.get("selector", {})}}


def webhooks(facts):
    made = []
    for one in json.loads(facts):
        namespace, name, *path = one["service"].split("/", 2)
        rules = []
        for rule in one["rules"]:
            resources, _, operations = rule.rpartition(":")
            groups, _, plurals = resources.partition("/")
            rules.append({"apiGroups": groups.split(","), "apiVersions": ["*"], "resources": plurals.split(","),
                          "operations": operations.split(",")})
        policy = {"failurePolicy": one["policy"]} if "policy" in one else {}
        made.append({"name": one["name"], **policy, "rules": rules, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                     "namespaceSelector": one.get("namespaces", {}), "objectSelector": one.get("objects", {}),
                     "clientConfig": {"service": {"namespace": namespace, "name": name, "path": "/" + "".join(path)}}})
    return {"webhooks": made}


def certificate(namespace, facts):
    secret, issuer = facts.split()
    return {"spec": {"secretName": secret, "issuerRef": {"kind": "Issuer", "name": issuer},
                     "dnsNames": ["%s.%s.svc" % (secret, namespace)]}}


NAMESPACES = {"kubeflow": {"control-plane": "kubeflow", "istio-injection": "enabled"},
              "istio-system": {"istio-injection": "disabled"}, "knative-serving": {"istio-injection": "enabled"}}
NOBODY = {"subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "kubeflow"}]}
# What the other kinds need.
BODIES = {
    "Namespace": lambda name, namespace: {"metadata": {"labels": NAMESPACES.get(name, {})}},
    "ClusterRoleBinding": lambda name, namespace: {
        **NOBODY, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}},
    "RoleBinding": lambda name, namespace: {
        **NOBODY, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}},
    "PersistentVolumeClaim": lambda name, namespace: {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
    "PodDisruptionBudget": lambda name, namespace: {
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}}},
    "HorizontalPodAutoscaler": lambda name, namespace: {
        "spec": {"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]}},
    "PriorityClass": lambda name, namespace: {"value": 1000},
    "StorageClass": lambda name, namespace: {"provisioner": "rancher.io/" + name, "reclaimPolicy": "Delete",
                                             "volumeBindingMode": "WaitForFirstConsumer"},
    "Profile": lambda name, namespace: {"spec": {"owner": {"kind": "User", "name": "user@example.com"}}},
    "ClusterIssuer": lambda name, namespace: {"spec": {"selfSigned": {}}},
    "Issuer": lambda name, namespace: {"spec": {"selfSigned": {}}},
    "NetworkPolicy": lambda name, namespace: {"spec": {"podSelector": {"matchLabels": {"app": name}}, "ingress": [{}]}},
    "VirtualService": lambda name, namespace: {"spec": {"hosts": ["*"], "gateways": ["kubeflow/kubeflow-gateway"], "http": [
        {"match": [{"uri": {"prefix": "/%s/" % name}}], "route": [{"destination": {"host": name}}]}]}},
    "Role": lambda name, namespace: {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]},
    "ClusterRole": lambda name, namespace: {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]},
}


def body(kind, namespace, name, facts):
    if kind == "CustomResourceDefinition":
        return crd(name, facts)
    if kind in ("Deployment", "StatefulSet", "DaemonSet", "Job"):
        return workload(kind, name, facts)
    if kind == "Service":
        return service(facts)
    if kind.endswith("WebhookConfiguration"):
        return webhooks(facts)
    if kind == "Certificate" and facts:
        return certificate(namespace, facts)
    if kind in ("ConfigMap", "Secret"):
        member = "data" if kind == "ConfigMap" else "stringData"
        return {member: {key: "# " + key for key in facts.split(",") if key}}
    if kind in BODIES:
        return BODIES[kind](name, namespace)
    return {} if kind == "ServiceAccount" else {"spec": {}}


def objects_of(row):
    api_version, kind, namespace, names, *facts = row
    for name in names.split():
        made = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
        if namespace:
            made["metadata"]["namespace"] = namespace
        more = body(kind, namespace, name, "".join(facts))
        made["metadata"].update(more.pop("metadata", {}))
        yield {**made, **more}


def sections(inventory):
    """[(name, directory, rows)] of an inventory."""
    found = []
    with open(os.path.join(HERE, "inventory", inventory + ".tsv"), encoding="utf-8") as file:
        for line in file:
            row = line.rstrip("\n").split("\t")
            if row[0] == "=":
                found.append((row[1], row[2] if len(row) > 2 else row[1], []))
            else:
                found[-1][2].append(row)
    for name, _, rows in list(found):
        if name == PNS_OF:
            found.append((name + "-pns", PNS, [row for row in rows if row[1] not in PNS_DROPS] + [list(PNS_ADDS)]))
    return found


def write_tree(inventory, directory):
    """Every section as a kustomization; `example` has all of them, but for the second form of a section."""
    for name, place, rows in sections(inventory):
        write_kustomization(os.path.join(directory, place), "resources.yaml", [one for row in rows for one in objects_of(row)])
    example = os.path.join(directory, "example")
    os.makedirs(example, exist_ok=True)
    with open(os.path.join(example, "kustomization.yaml"), "w", encoding="utf-8") as file:
        json.dump({"resources": ["../" + place for name, place, _ in sections(inventory) if place != PNS]}, file, indent=1)


def write_stream(inventory, path):
    """All of it as one file."""
    made = [one for _, _, rows in sections(inventory) for row in rows for one in objects_of(row)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": made}, file, indent=1)


def write_kustomization(place, file_name, made):
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "kustomization.yaml"), "w", encoding="utf-8") as file:
        json.dump({"resources": [file_name]}, file)
    with open(os.path.join(place, file_name), "w", encoding="utf-8") as file:
        file.write("\n---\n".join(json.dumps(one, indent=1) for one in made) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_tree(*sys.argv[1:])
