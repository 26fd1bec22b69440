"""Two answers to one request, what of them must be equal, and where they differ."""
import re

VOLATILE = {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "clusterIP", "clusterIPs",
            "nodePort", "continue", "healthCheckNodePort", "storageVersionHash", "serverAddress", "lastTransitionTime",
            "lastPhaseTransitionTime", "startTime", "authentication.kubernetes.io/credential-id"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HEADERS = ["Content-Type", "Warning", "Cache-Control", "Retry-After"]


def normal(value, key=""):
    """The value with what no two servers agree on masked."""
    if isinstance(value, dict):
        made = {k: normal(v, k) for k, v in value.items()}
        if made.get("kind") == "Table" or "columnDefinitions" in made:
            for column in made.get("columnDefinitions") or []:
                column.pop("description", None)
        return made
    if isinstance(value, list):
        items = [normal(v, key) for v in value]
        if key == "managedFields":
            items.sort(key=lambda m: (m.get("manager", ""), m.get("operation", ""), m.get("subresource", "")))
        if key == "resources":
            items = {i.get("name", i.get("resource")): i for i in items if isinstance(i, dict)}
        if key == "rows":
            for row in items:
                row["cells"] = ["<age>" if isinstance(c, str) and re.fullmatch(r"\d+[smh]|<invalid>|\d+m\d+s", c) else
                                "<time>" if isinstance(c, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", c) else
                                "<address>" if isinstance(c, str) and re.fullmatch(r"10\.96\.\d+\.\d+", c) else c
                                for c in row.get("cells", [])]
        return items
    if key in VOLATILE and value:
        return "<%s>" % key
    if isinstance(value, str):
        value = UUID.sub("<uuid>", value)
        # Whole objects inside messages: their members come in another order.
        value = re.sub(r'Invalid value: ("\{\\"|"map\[).*?"?: (?=[a-z ]+:? )', "Invalid value: <object>: ", value)
        value = re.sub(r'Invalid value: (\{.*?\}|\[.*?\]): (?=[a-z`\'])', "Invalid value: <object>: ", value, flags=re.DOTALL)
        value = re.sub(r"metadata\.resourceVersion: \d+", "metadata.resourceVersion: N", value)
        value = re.sub(r"in record \(\d+\)", "in record (N)", value)
        value = re.sub(r"(object's current resourceVersion|ResourceVersion in object meta): \d+", r"\1: N", value)
    return value


def paths(ours, theirs, path=""):
    """Every place where two normalised values differ, as (path, theirs, ours)."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            yield from paths(ours.get(key, "<absent>"), theirs.get(key, "<absent>"), "%s.%s" % (path, key))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (a, b) in enumerate(zip(ours, theirs)):
            yield from paths(a, b, "%s[%d]" % (path, index))
    elif ours != theirs:
        yield path, theirs, ours


def differences(ours, theirs):
    if ours.code != theirs.code:
        yield "code", "%d %s" % (theirs.code, text(theirs.body)), "%d %s" % (ours.code, text(ours.body))
        return
    if kind_of(ours.body) != kind_of(theirs.body):
        yield "kind", "%s %s" % (kind_of(theirs.body), text(theirs.body)), "%s %s" % (kind_of(ours.body), text(ours.body))
        return
    for header in HEADERS:
        a, b = ours.headers.get_all(header) or [], theirs.headers.get_all(header) or []
        if [UUID.sub("", x) for x in a] != [UUID.sub("", x) for x in b]:
            yield "header " + header, str(b), str(a)
    if theirs.headers.get("Content-Type", "").startswith("application/yaml"):
        return
    for path, b, a in paths(normal(ours.body), normal(theirs.body)):
        yield path, text(b), text(a)


def kind_of(body):
    return body.get("kind") if isinstance(body, dict) else None


def text(value):
    if isinstance(value, dict) and "message" in value:
        value = "%s: %s" % (value.get("reason"), value["message"])
    value = str(value)
    return value if len(value) < 400 else value[:400] + "..."
