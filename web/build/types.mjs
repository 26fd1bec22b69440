// Types of the kinds, written from api/: custom kinds from their CRDs, built-in ones from the schema facts.
// Nothing about a kind is written down a second time.
import fs from "node:fs";
import path from "node:path";
import yaml from "js-yaml";

// The built-in kinds that pages read; what they refer to comes along.
const BUILTIN_ROOTS = [
  "core.v1.Pod", "core.v1.Node", "core.v1.Event", "core.v1.Namespace", "core.v1.PersistentVolumeClaim",
  "core.v1.PersistentVolume", "core.v1.Service", "core.v1.ConfigMap", "core.v1.ResourceQuota",
  "storage.v1.StorageClass", "batch.v1.Job", "rbac.v1.RoleBinding", "scheduling.v1.PriorityClass",
];

const SCALARS = {
  s: "string", b: "boolean", i: "number", l: "number", d: "number", B: "string", T: "string", U: "string",
  D: "string", Q: "Quantity", I: "number | string", R: "unknown", F: "unknown", J: "unknown", O: "unknown",
  P: "unknown", X: "unknown",
};

function parse_facts(text) {
  const enums = [], types = [];
  for (const line of text.split("\n")) {
    const words = line.split(" ");
    if (words[0] === "%enum") enums.push(line.slice("%enum ".length).split("|"));
    else if (words[0] === "%type") types.push({ name: words[1], fields: [] });
    else if (line && line[0] !== "%") types.at(-1).fields.push({ name: words[0], kind: words[1], flags: words[2] });
  }
  return { enums, types };
}

function short_name(full) {
  return full.replace(/^io\.k8s\.(api|apimachinery\.pkg\.apis|apiextensions-apiserver\.pkg\.apis)\./, "")
    .split(".").map((word) => word[0].toUpperCase() + word.slice(1)).join("");
}

function builtin_types(text) {
  const { enums, types } = parse_facts(text);
  const wanted = new Set(), queue = [];
  const want = (index) => { if (!wanted.has(index)) { wanted.add(index); queue.push(index); } };
  for (const root of BUILTIN_ROOTS) {
    const index = types.findIndex((type) => type.name === `io.k8s.api.${root}`);
    if (index < 0) throw new Error(`api/builtin/schema_facts.txt has no ${root}`);
    want(index);
  }
  const written = (kind) => {
    if (kind[0] === "~") return written(kind.slice(1));
    if (kind[0] === "[") return `Array<${written(kind.slice(1))}>`;
    if (kind[0] === "{") return `Record<string, ${written(kind.slice(1))}>`;
    if (kind[0] === "#") { const index = Number(kind.slice(1)); want(index); return short_name(types[index].name); }
    if (kind[0] === "e") return enums[Number(kind.slice(1))].map((value) => JSON.stringify(value)).join(" | ");
    return SCALARS[kind] ?? "unknown";
  };
  const out = [];
  while (queue.length) {
    const type = types[queue.shift()];
    const bases = type.fields.filter((field) => field.name === "&").map((field) => written(field.kind));
    const members = type.fields.filter((field) => field.name !== "&")
      .map((field) => `  ${JSON.stringify(field.name)}${field.flags.includes("r") ? "" : "?"}: ${written(field.kind)};`);
    out.push(`export interface ${short_name(type.name)}${bases.length ? ` extends ${bases.join(", ")}` : ""} {\n` +
      `${members.join("\n")}\n}`);
  }
  return out.sort().join("\n\n");
}

function schema_type(schema, indent) {
  if (!schema || schema["x-kubernetes-int-or-string"]) return schema ? "number | string" : "unknown";
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  switch (schema.type) {
    case "string": return "string";
    case "boolean": return "boolean";
    case "integer": case "number": return "number";
    case "array": return `Array<${schema_type(schema.items, indent)}>`;
    case "object": break;
    default: return "unknown";
  }
  if (schema.properties) return object_type(schema, indent);
  if (schema.additionalProperties) return `Record<string, ${schema_type(schema.additionalProperties, indent)}>`;
  return "Record<string, unknown>";
}

function object_type(schema, indent) {
  const inner = indent + "  ";
  const members = Object.entries(schema.properties).map(([name, property]) => {
    const optional = schema.required?.includes(name) ? "" : "?";
    const type = name === "template" && !property.properties?.spec?.properties ? "CoreV1PodTemplateSpec"
      : schema_type(property, inner);
    return `${inner}${JSON.stringify(name)}${optional}: ${type};`;
  });
  return `{\n${members.join("\n")}\n${indent}}`;
}

function crd_types(directory) {
  const out = [], kinds = [];
  for (const file of fs.readdirSync(directory).filter((name) => name.endsWith(".yaml")).sort()) {
    for (const crd of yaml.loadAll(fs.readFileSync(path.join(directory, file), "utf8"))) {
      if (crd?.kind !== "CustomResourceDefinition") continue;
      const { group, names, scope, versions } = crd.spec;
      const version = versions.find((one) => one.storage) ?? versions[0];
      const schema = version.schema?.openAPIV3Schema ?? {};
      const name = type_name(group, names.kind);
      const part = (member) => schema_type(schema.properties?.[member], "  ");
      out.push(`export interface ${name} extends KubeObject {\n  spec: ${part("spec")};\n  status?: ${part("status")};\n}`);
      kinds.push({ name, group, version: version.name, plural: names.plural, kind: names.kind, namespaced: scope === "Namespaced" });
    }
  }
  return { text: out.join("\n\n"), kinds };
}

// Volcano's Job and Kubernetes' are both "Job".
function type_name(group, kind) {
  return group.endsWith("volcano.sh") && ["Job", "CronJob", "Command"].includes(kind) ? `Volcano${kind}` : kind;
}

export function write_types(api, out) {
  const builtin = builtin_types(fs.readFileSync(path.join(api, "builtin/schema_facts.txt"), "utf8"));
  const crds = crd_types(path.join(api, "crds"));
  fs.writeFileSync(out, `// Generated by web/build/types.mjs from api/.
export type Quantity = string | number;

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: MetaV1ObjectMeta & { name: string };
}

${builtin}

${crds.text}

// The custom kinds that this build knows, with their storage versions.
export const custom_kinds: ReadonlyArray<{
  name: string; group: string; version: string; plural: string; kind: string; namespaced: boolean;
}> = ${JSON.stringify(crds.kinds, null, 1)};
`);
}
