// Objects as YAML and back.
import * as yaml from "js-yaml";
import type { KubeObject } from "../../data/resource";

export const to_yaml = (value: unknown): string => yaml.dump(value, { lineWidth: 120, noRefs: true, sortKeys: false });
export function from_yaml(text: string): KubeObject[] {
  return (yaml.loadAll(text) as KubeObject[]).flatMap((one) => one && (one as unknown as { items?: KubeObject[] }).items && /List$/.test(one.kind) ? (one as unknown as { items: KubeObject[] }).items : [one]).filter(Boolean);
}
