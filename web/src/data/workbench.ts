// Notebooks, TensorBoards and volumes as their pages show them. Their states are worked out as upstream's web apps do.
import type { CoreV1PersistentVolumeClaim } from "../../generated/kinds";
import type { Event } from "../parts/events";
import type { Tone } from "../parts/states";
import type { KubeObject } from "./resource";

export interface PodSpec {
  serviceAccountName?: string;
  containers?: Array<{ name: string; image?: string; resources?: { requests?: Record<string, string>; limits?: Record<string, string> }; volumeMounts?: Array<{ name: string; mountPath: string }>; env?: Array<{ name: string; value?: string }> }>;
  volumes?: Array<{ name: string; persistentVolumeClaim?: { claimName: string }; emptyDir?: { medium?: string } }>;
}
export interface Notebook extends KubeObject {
  spec: { template: { spec: PodSpec } };
  status?: { readyReplicas?: number; conditions?: Array<{ type?: string; reason?: string; message?: string }>; containerState?: { waiting?: { reason?: string; message?: string }; running?: unknown; terminated?: { reason?: string } } };
}
export interface Tensorboard extends KubeObject { spec: { logspath: string }; status?: { readyReplicas?: number; conditions?: Array<{ deploymentState?: string }> } }
export type Claim = CoreV1PersistentVolumeClaim & KubeObject;
export interface Viewer extends KubeObject { spec: { pvc: string }; status?: { ready?: boolean; url?: string } }
export interface PodDefault extends KubeObject { spec: { desc?: string; selector?: { matchLabels?: Record<string, string> } } }

export const STOPPED = "kubeflow-resource-stopped";
export interface Status { phase: "ready" | "waiting" | "warning" | "stopped" | "terminating" | "unavailable"; message: string; tone: Tone; building?: boolean }

const status = (phase: Status["phase"], message: string): Status =>
  ({ phase, message, tone: phase === "ready" ? "run" : phase === "warning" ? "fail" : phase === "waiting" || phase === "unavailable" ? "wait" : "done" });

// An environment is built when a pod first needs it; the node tells the build's last line as the reason why it waits.
const building = (line: string): Status => ({ ...status("waiting", line), building: true });
interface WaitingContainers { status?: { containerStatuses?: Array<{ state?: { waiting?: { reason?: string; message?: string } } }> } }
export const build_of = (pod: unknown): string => (pod as WaitingContainers | undefined)?.status?.containerStatuses?.map((one) => one.state?.waiting).find((one) => one?.reason === "ImageBuilding")?.message ?? "";

// `warning` is the newest event that warns of it: a notebook whose pod cannot be made has nothing else to say.
export function notebook_status(notebook: Notebook, warning = ""): Status {
  const own = notebook.status, ready = own?.readyReplicas ?? 0;
  if (notebook.metadata.deletionTimestamp) return status("terminating", "Deleting this Notebook Server.");
  if (notebook.metadata.annotations?.[STOPPED]) return ready === 0 ? status("stopped", "No Pods are currently running for this Notebook Server.") : status("waiting", "Notebook Server is stopping.");
  if (ready >= 1) return status("ready", "Running");
  const waiting = own?.containerState?.waiting;
  if (waiting?.reason === "ImageBuilding") return building(waiting.message ?? "");
  if (waiting?.reason && waiting.reason !== "PodInitializing" && waiting.reason !== "ContainerCreating") return status("warning", `${waiting.reason}: ${waiting.message ?? ""}`);
  const condition = own?.conditions?.find((one) => one.reason && one.reason !== "PodCompleted" && one.reason !== "ContainersNotReady");
  if (condition) return status("waiting", `${condition.reason}: ${condition.message ?? ""}`);
  if (warning) return status("warning", warning);
  return status("waiting", own?.conditions?.length ? "Starting the Notebook Server." : "Waiting for StatefulSet to create the underlying Pod.");
}

export function claim_status(claim: Claim, event?: Event): Status {
  if (claim.metadata.deletionTimestamp) return status("terminating", "Deleting Volume...");
  if (claim.status?.phase === "Bound") return status("ready", "Bound");
  if (!event) return status("waiting", "Provisioning Volume...");
  if (event.reason === "WaitForFirstConsumer") return status("unavailable", "It is made when the first pod uses it.");
  return status(event.type === "Warning" ? "warning" : "waiting", `Pending: ${event.message}`);
}

// `pod` is the board's, if there is one.
export const tensorboard_status = (board: Tensorboard, pod?: unknown): Status =>
  board.metadata.deletionTimestamp ? status("terminating", "Deleting…") : (board.status?.readyReplicas ?? 0) >= 1 ? status("ready", "The Tensorboard server is ready to connect")
    : build_of(pod) ? building(build_of(pod)) : status("waiting", "Starting.");

export const SERVER_TYPES: Record<string, string> = { jupyter: "JupyterLab", "group-one": "VS Code", "group-two": "RStudio" };
export const server_type = (notebook: Notebook): string => SERVER_TYPES[notebook.metadata.annotations?.["notebooks.kubeflow.org/server-type"] ?? "jupyter"] ?? "JupyterLab";
export const short_image = (image = ""): string => image.split("/").at(-1)!;

export const notebook_url = (notebook: KubeObject): string => `/notebook/${notebook.metadata.namespace}/${notebook.metadata.name}/`;
export const board_url = (board: KubeObject): string => `/tensorboard/${board.metadata.namespace}/${board.metadata.name}/`;
export const claims_of = (spec: PodSpec | undefined): string[] => (spec?.volumes ?? []).flatMap((one) => one.persistentVolumeClaim?.claimName ?? []);
// The label by which a PodDefault is chosen: upstream's forms take the first.
export const default_label = (one: PodDefault): string => Object.keys(one.spec.selector?.matchLabels ?? {})[0] ?? one.metadata.name;
export const LABEL = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
