// Completion by the cluster's own schema: the document's apiVersion and kind, the path at the cursor, and the OpenAPI
// that the API server publishes for that group.
import { kube } from "../../data/api";

export interface Suggestion { label: string; type: string; description: string; required: boolean; apply: string }
export type Completer = (text: string, at: number) => Promise<Suggestion[]>;

interface Schema {
  type?: string; description?: string; properties?: Record<string, Schema>; items?: Schema; required?: string[];
  additionalProperties?: Schema; $ref?: string; allOf?: Schema[]; enum?: unknown[];
  "x-kubernetes-group-version-kind"?: Array<{ group: string; version: string; kind: string }>;
}
interface Published { components?: { schemas?: Record<string, Schema> } }

const published = new Map<string, Promise<Published>>();
function schemas_of(api_version: string): Promise<Published> {
  const path = api_version.includes("/") ? `/openapi/v3/apis/${api_version}` : `/openapi/v3/api/${api_version}`;
  if (!published.has(path)) published.set(path, kube<Published>(path).catch(() => ({})));
  return published.get(path)!;
}

// Where the cursor is: the document's lines, and the keys above it by indentation.
export function path_at(text: string, at: number): { document: string; path: string[]; key: string | null } {
  const start = Math.max(0, text.lastIndexOf("\n---", at - 1));
  const next = text.indexOf("\n---", at);
  const document = text.slice(start, next < 0 ? undefined : next);
  const lines = text.slice(start, at).split("\n");
  const line = lines.pop() ?? "";
  const value = /^(\s*(?:- )*)([\w./-]+):\s+\S*$/.exec(line);
  let indent = /^(\s*(?:- )*)/.exec(line)![1].length;
  const path: string[] = [];
  const dashes = (line.match(/^\s*((?:- )+)/)?.[1].length ?? 0) / 2;
  for (let n = 0; n < dashes; n++) path.unshift("[]");
  for (let n = lines.length - 1; n >= 0 && indent > 0; n--) {
    const match = /^(\s*)((?:- )*)([\w./"-]+):(.*)$/.exec(lines[n]);
    if (!match) continue;
    const own = match[1].length + match[2].length;
    const dash = match[1].length;
    if (own < indent) {
      path.unshift(match[3].replace(/"/g, ""));
      indent = own;
      for (let d = 0; d < match[2].length / 2; d++) path.unshift("[]");
    } else if (match[2] && dash < indent && own <= indent) {
      path.unshift("[]");
      indent = dash + 1;  // the list's key may stand at the dash's own column
    }
    if (match[2] && own < indent + 1) indent = Math.min(indent, dash + 1);
  }
  return { document, path, key: value ? value[2] : null };
}

function resolve(schema: Schema | undefined, all: Record<string, Schema>): Schema | undefined {
  for (let n = 0; schema && n < 8; n++) {
    const to: string | undefined = schema.$ref ?? schema.allOf?.[0]?.$ref;
    if (!to) return schema;
    schema = all[to.replace("#/components/schemas/", "")];
  }
  return schema;
}

export const complete_by_schema: Completer = async (text, at) => {
  const { document, path, key } = path_at(text, at);
  const api_version = /^apiVersion:\s*(\S+)/m.exec(document)?.[1];
  const kind = /^kind:\s*(\S+)/m.exec(document)?.[1];
  if (!api_version || !kind) return path.length ? [] : ["apiVersion", "kind", "metadata", "spec"].map((label) => ({ label, type: "", description: "", required: true, apply: `${label}: ` }));
  const all = (await schemas_of(api_version)).components?.schemas ?? {};
  const [group, version] = api_version.includes("/") ? api_version.split("/") : ["", api_version];
  let schema = Object.values(all).find((one) => one["x-kubernetes-group-version-kind"]?.some((gvk) => gvk.kind === kind && gvk.version === version && gvk.group === group));
  for (const step of path) {
    schema = resolve(schema, all);
    schema = step === "[]" ? (schema?.type === "array" || schema?.items ? schema?.items : schema) : schema?.properties?.[step] ?? schema?.additionalProperties;
  }
  schema = resolve(schema, all);
  if (schema?.type === "array") schema = resolve(schema.items, all);
  if (key) {
    const values = resolve(schema?.properties?.[key], all);
    const words = values?.enum ?? (values?.type === "boolean" ? [true, false] : []);
    return words.map((word) => ({ label: String(word), type: "", description: "", required: false, apply: String(word) }));
  }
  return Object.entries(schema?.properties ?? {}).map(([label, property]) => {
    const own = resolve(property, all);
    const type = own?.type ?? "";
    return { label, type, description: property.description ?? own?.description ?? "", required: !!schema?.required?.includes(label), apply: `${label}:${type === "object" || type === "array" ? "" : " "}` };
  });
};
