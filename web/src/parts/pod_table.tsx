// Pods as a table, for every page that has some.
import { useMemo } from "preact/hooks";
import type { CoreV1Pod, KubeObject } from "../../generated/kinds";
import { stage_of } from "../data/jobs";
import { uid_of } from "../data/resource";
import { t } from "../text/text";
import { State } from "./states";
import { Table, type Column } from "./table";
import { Age } from "./time";

export type Pod = CoreV1Pod & KubeObject;

// What kubectl's STATUS column says: the reason of a container where there is one.
export function pod_status(pod: Pod): string {
  if (pod.metadata.deletionTimestamp) return "Terminating";
  for (const one of [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]) {
    const reason = one.state?.waiting?.reason ?? (one.state?.terminated && one.state.terminated.reason !== "Completed" ? one.state.terminated.reason : undefined);
    if (reason && reason !== "PodInitializing") return reason;
  }
  return pod.status?.reason || (pod.status?.phase === "Succeeded" ? "Completed" : pod.status?.phase) || "Pending";
}
export const pod_ready = (pod: Pod): string => `${pod.status?.containerStatuses?.filter((one) => one.ready).length ?? 0}/${pod.spec?.containers?.length ?? 0}`;
export const restarts = (pod: Pod): number => pod.status?.containerStatuses?.reduce((sum, one) => sum + (one.restartCount ?? 0), 0) ?? 0;

const ERROR = /Error|BackOff|Invalid|Failed|OOM|Evicted/;
export const pod_tone = (pod: Pod) => (ERROR.test(pod_status(pod)) ? "fail" : stage_of(pod));

export function PodTable({ pods, role, with_namespace }: { pods: Pod[]; role?: (pod: Pod) => string; with_namespace?: boolean }) {
  const columns = useMemo((): Column<Pod>[] => [
    { key: "state", title: "Status", width: "150px", cell: (pod) => <State tone={pod_tone(pod)} text={pod_status(pod)} />, sort: pod_status },
    { key: "name", title: "Name", width: "minmax(180px, 2fr)", cell: (pod) => <a href={`/pods/${pod.metadata.namespace}/${pod.metadata.name}`} title={pod.metadata.name}>{pod.metadata.name}</a>, sort: (pod) => pod.metadata.name },
    ...(with_namespace ? [{ key: "ns", title: "Namespace", width: "minmax(90px, 1fr)", cell: (pod: Pod) => <span class="muted">{pod.metadata.namespace}</span>, sort: (pod: Pod) => pod.metadata.namespace ?? "" }] : []),
    ...(role ? [{ key: "role", title: "Role", width: "110px", cell: role, sort: role }] : []),
    { key: "ready", title: "Ready", width: "64px", cell: pod_ready, sort: pod_ready },
    { key: "restarts", title: "Restarts", width: "80px", right: true, cell: (pod) => restarts(pod), sort: restarts },
    { key: "node", title: "Node", width: "minmax(90px, 1fr)", cell: (pod) => pod.spec?.nodeName ? <a href={`/nodes/${pod.spec.nodeName}`}>{pod.spec.nodeName}</a> : <span class="faint">–</span>, sort: (pod) => pod.spec?.nodeName ?? "" },
    { key: "ip", title: "IP", width: "110px", cell: (pod) => <span class="mono">{pod.status?.podIP}</span>, sort: (pod) => pod.status?.podIP ?? "" },
    { key: "age", title: "Age", width: "70px", right: true, cell: (pod) => <Age at={pod.metadata.creationTimestamp as string} />, sort: (pod) => Date.parse(String(pod.metadata.creationTimestamp)) },
  ], [with_namespace, !!role]);
  return <Table rows={pods} columns={columns} row_key={uid_of} href={(pod) => `/pods/${pod.metadata.namespace}/${pod.metadata.name}`} order={role ? "" : "-age"} name={t("Pods")} least={780}
    text={(pod) => `${pod.metadata.name} ${pod.metadata.namespace} ${pod_status(pod)} ${pod.spec?.nodeName ?? ""}`} empty={t("No pods.")} id={role ? "pods" : ""} />;
}
