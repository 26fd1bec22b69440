// What the nodes have and what is asked of them.
import type { CoreV1Node, KubeObject } from "../../generated/kinds";
import type { Pod } from "../parts/pod_table";
import { add_amounts, amounts, type Amounts } from "./quantity";

export type Node = CoreV1Node & KubeObject;

export function pod_requests(pod: Pod): Amounts {
  const sum: Amounts = {};
  for (const container of pod.spec?.containers ?? []) add_amounts(sum, amounts(container.resources?.requests as never));
  for (const container of pod.spec?.initContainers ?? []) {
    const own = amounts(container.resources?.requests as never);
    for (const [name, value] of Object.entries(own)) sum[name] = Math.max(sum[name] ?? 0, value);
  }
  sum.pods = 1;
  return sum;
}
export const takes_room = (pod: Pod): boolean => !!pod.spec?.nodeName && pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed";

export const allocatable = (node: Node): Amounts => amounts(node.status?.allocatable as never);

export function by_node(pods: Pod[]): Map<string, { pods: Pod[]; requests: Amounts }> {
  const out = new Map<string, { pods: Pod[]; requests: Amounts }>();
  for (const pod of pods) {
    if (!takes_room(pod)) continue;
    const node = pod.spec!.nodeName!;
    if (!out.has(node)) out.set(node, { pods: [], requests: {} });
    const own = out.get(node)!;
    own.pods.push(pod);
    add_amounts(own.requests, pod_requests(pod));
  }
  return out;
}

export const is_ready = (node: Node): boolean => !!node.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
export const is_device = (resource: string): boolean => resource.includes("/") && !resource.startsWith("kubernetes.io/");

// cpu and memory first, then devices, then pods.
export function order_resources(names: Iterable<string>): string[] {
  const rank = (name: string) => (name === "cpu" ? 0 : name === "memory" ? 1 : is_device(name) ? 2 : name === "pods" ? 4 : 3);
  return [...new Set(names)].filter((name) => !name.startsWith("hugepages") && name !== "ephemeral-storage").sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
