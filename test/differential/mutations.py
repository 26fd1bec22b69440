"""Full objects with one member spoiled at a time, for create, update and the update of /status. The members a kind has, and of
what type they are, is read from the OpenAPI documents of the peer."""
import copy
import os

import yaml

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
ABSENT = object()
LONG = "x" * 300
EXISTING = "mutated"
ALWAYS = ("for good", "mutated delete")  # how the names of cases end that others need


class Schemas:
    """The definitions of one group version, with references followed."""

    def __init__(self, document):
        self.definitions = document["components"]["schemas"]

    def of_kind(self, kind):
        for name, schema in self.definitions.items():
            if name.endswith("." + kind) and "x-kubernetes-group-version-kind" in schema:
                return schema
        raise KeyError(kind)

    def resolved(self, schema):
        """(schema, the last part of the definition's name)"""
        reference = schema.get("$ref") or next((s["$ref"] for s in schema.get("allOf", []) if "$ref" in s), None)
        if not reference:
            return schema, ""
        name = reference.rsplit("/", 1)[1]
        return self.definitions[name], name.rsplit(".", 1)[1]

    def member(self, schema, key):
        """The schema of a property or of the values of a map; None if it has none."""
        schema, _ = self.resolved(schema)
        return schema.get("properties", {}).get(key, schema.get("additionalProperties"))

    def sample(self, schema):
        """A small value of the type, with the members that are required and no others."""
        schema, name = self.resolved(schema)
        if schema.get("enum"):
            return schema["enum"][0]
        if name in ("Time", "MicroTime"):
            return "2024-01-01T00:00:00Z" if name == "Time" else "2024-01-01T00:00:00.000000Z"
        if name in ("Quantity", "IntOrString"):
            return 1
        kind = schema.get("type")
        if kind == "array":
            return [self.sample(schema["items"])]
        if kind == "object" and "additionalProperties" in schema:
            return {"a": self.sample(schema["additionalProperties"])}
        if kind == "object" or "properties" in schema:
            return {k: self.sample(schema["properties"][k]) for k in schema.get("required", [])}
        return {"integer": 1, "number": 1, "boolean": True, "string": "x"}.get(kind, {})

    def spoiled(self, value, schema):
        """(what was done, the value instead) for one member."""
        schema, name = self.resolved(schema)
        yield "absent", ABSENT
        yield "null", None
        if isinstance(value, str):
            yield from (("a number", 7), ("empty", ""), ("odd", "Not OK!"), ("long", LONG))
            yield from ((v, v) for v in schema.get("enum", []) if v != value)
            if name in ("Quantity", "IntOrString"):
                yield from ((v, v) for v in ("-1", "150%", "1.5", "0", "1Ki", "1e3"))
        elif isinstance(value, bool):
            yield from (("a word", "true"), ("reversed", not value))
        elif isinstance(value, int):
            yield from (("a word", "x"), ("negative", -1), ("zero", 0), ("a fraction", 1.5), ("100000", 100000),
                        ("past int32", 1 << 31))
        elif isinstance(value, dict):
            yield from (("a word", "x"), ("a list", []), ("empty", {}))
            if "properties" not in schema:
                one = next(iter(value.values()), "x")
                yield from (("an odd key", {"Not OK!": one}), ("a long key", {LONG: one}), ("an empty key", {"": one}))
        elif isinstance(value, list):
            yield from (("a word", "x"), ("an object", {}), ("empty", []), ("of null", [None]))
            yield from ((("twice", value + copy.deepcopy(value[-1:])),) if value else ())

    def mutations(self, value, schema, calm=(), path=""):
        """(path, what was done, steps to the place, the value there instead) for every member below."""
        if path in calm:
            return
        if isinstance(value, dict):
            for key, inner in value.items():
                below = self.member(schema, key)
                if below is not None and (path, key) not in (("", "apiVersion"), ("", "kind"), ("", "metadata"), ("", "status")):
                    yield from self.at(inner, below, "%s.%s" % (path, key) if path else key, key, calm)
            for key, added in self.resolved(schema)[0].get("properties", {}).items():
                if key not in value and (path, key) not in (("", "metadata"), ("", "status")):
                    yield "%s.%s" % (path, key) if path else key, "added", [key], self.sample(added)
        elif isinstance(value, list):
            items = self.resolved(schema)[0].get("items", {})
            for index, inner in enumerate(value):
                yield from self.at(inner, items, "%s[%d]" % (path, index), index, calm)

    def at(self, value, schema, path, step, calm):
        for label, made in self.spoiled(value, schema):
            yield path, label, [step], made
        for inner, label, steps, made in self.mutations(value, schema, calm, path):
            yield inner, label, [step] + steps, made


def changed(whole, steps, value):
    result = copy.deepcopy(whole)
    place = result
    for step in steps[:-1]:
        place = place[step]
    if value is not ABSENT:
        place[steps[-1]] = value
    elif isinstance(place, list):
        del place[steps[-1]]
    else:
        place.pop(steps[-1], None)
    return result


def with_identity(body):
    """The body as an update of the live object."""
    def of(live):
        identity = {k: live.get("metadata", {}).get(k) for k in ("name", "namespace", "uid", "resourceVersion")}
        return dict(body, metadata={**body.get("metadata", {}), **{k: v for k, v in identity.items() if v}})
    return of


def cases_of(entry, schemas):
    base = entry["path"] + ("" if entry.get("cluster") else "/namespaces/" + cases.NAMESPACE) + "/" + entry["resource"]
    kind = entry["path"].removeprefix("/apis/").removeprefix("/api/") + "/" + entry["resource"]
    title = "%s: mutated %s" % (kind, entry["label"] + " " if "label" in entry else "")
    good = cases.fill(copy.deepcopy(entry["object"]))
    name = entry.get("name", EXISTING + entry.get("label", ""))
    good["metadata"] = dict(good.get("metadata", {}), name=name)
    one = base + "/" + name
    schema = schemas.of_kind(good["kind"])
    calm = entry.get("calm", [])
    spoiled = list(schemas.mutations(good, schema, calm))
    spoiled += [("metadata." + p, label, ["metadata"] + steps, value) for p, label, steps, value in schemas.mutations(
        {k: v for k, v in good["metadata"].items() if k != "name"}, schema["properties"]["metadata"])
        if entry["resource"] == "pods" and not p.startswith(("managedFields", "name"))]
    dry = "?dryRun=All"
    yield cases.Case(title + "create", "POST", base + dry, good)
    for path, label, steps, value in spoiled:
        yield cases.Case("%screate %s %s" % (title, path, label), "POST", base + dry, changed(good, steps, value))
    yield cases.Case(title + "create for good", "POST", base, good)
    for path, label, steps, value in spoiled:
        yield cases.Case("%supdate %s %s" % (title, path, label), "PUT", one + dry,
                         with_identity(changed(good, steps, value)), None, one)
    if "status" in entry:
        full = dict(good, status=entry["status"])
        of_status = schemas.member(schema, "status")
        yield cases.Case(title + "status", "PUT", one + "/status" + dry, with_identity(full), None, one)
        for path, label, steps, value in schemas.mutations(entry["status"], of_status):
            yield cases.Case("%sstatus %s %s" % (title, path, label), "PUT", one + "/status" + dry,
                             with_identity(changed(full, ["status"] + steps, value)), None, one)
        yield cases.Case(title + "status for good", "PUT", one + "/status", with_identity(full), None, one)
        for path, label, steps, value in schemas.mutations(entry["status"], of_status):
            if label in ("absent", "empty", "added"):
                yield cases.Case("%sstatus again %s %s" % (title, path, label), "PUT", one + "/status" + dry,
                                 with_identity(changed(full, ["status"] + steps, value)), None, one)
    yield cases.Case(title + "delete", "DELETE", one, {"gracePeriodSeconds": 0})


def all_cases(peer):
    """`peer`: the server whose documents tell what members there are."""
    with open(os.path.join(HERE, "mutations.yaml")) as file:
        entries = yaml.safe_load(file)
    known = {}
    for entry in entries:
        path = entry["path"].lstrip("/")
        if path not in known:
            known[path] = Schemas(peer.ask("GET", "/openapi/v3/" + path).body)
        yield from cases_of(entry, known[path])
