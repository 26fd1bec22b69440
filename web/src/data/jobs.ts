// Jobs of every kind as one shape: what the list shows, what a gang's picture is drawn from.
import type { BatchV1Job, CoreV1Pod, JobSet, KubeObject, PodGroup, TFJob, TrainJob, VolcanoJob } from "../../generated/kinds";
import type { Tone } from "../parts/states";
import { resources, type Resource } from "./resource";

export interface Role { name: string; replicas: number; min?: number }
export interface JobKind {
  key: string;               // in URLs
  label: string;             // what people call it
  resource: Resource;
  pod_labels: (name: string) => string;
  role_of: (pod: CoreV1Pod) => string;
  index_of: (pod: CoreV1Pod) => number;
  roles: (job: KubeObject) => Role[];
  state: (job: KubeObject) => string;
  queue: (job: KubeObject) => string;
  group: (job: KubeObject) => string;  // name of its PodGroup, if it has one
}

const label = (pod: CoreV1Pod, ...names: string[]): string =>
  names.map((name) => pod.metadata?.labels?.[name] ?? pod.metadata?.annotations?.[name]).find((value) => value) ?? "";
const last_number = (pod: CoreV1Pod): number => Number(/(\d+)$/.exec(pod.metadata?.name ?? "")?.[1] ?? 0);

const vcjob: JobKind = {
  key: "vcjob", label: "Volcano Job", resource: resources.vcjobs,
  pod_labels: (name) => `volcano.sh/job-name=${name}`,
  role_of: (pod) => label(pod, "volcano.sh/task-spec"),
  index_of: (pod) => Number(label(pod, "volcano.sh/task-index") || last_number(pod)),
  roles: (job) => ((job as VolcanoJob).spec.tasks ?? []).map((task, at) => ({ name: task.name ?? `default${at}`, replicas: task.replicas ?? 1, min: task.minAvailable })),
  state: (job) => (job as VolcanoJob).status?.state?.phase ?? "Pending",
  queue: (job) => (job as VolcanoJob).spec.queue ?? "default",
  group: (job) => `${job.metadata.name}-${job.metadata.uid}`,
};

// The newest condition that is true, as kubectl's STATE column has it.
function newest_condition(job: KubeObject): string {
  const conditions = (job as TFJob).status?.conditions as Array<{ type: string; status: string }> | undefined;
  return conditions?.filter((one) => one.status === "True").at(-1)?.type ?? "Pending";
}

function training(key: string, text: string, resource: Resource, member: string): JobKind {
  const specs = (job: KubeObject): Record<string, { replicas?: number }> =>
    ((job as unknown as { spec: Record<string, unknown> }).spec[member] ?? {}) as Record<string, { replicas?: number }>;
  return {
    key, label: text, resource,
    pod_labels: (name) => `training.kubeflow.org/job-name=${name}`,
    role_of: (pod) => label(pod, "training.kubeflow.org/replica-type"),
    index_of: (pod) => Number(label(pod, "training.kubeflow.org/replica-index") || 0),
    roles: (job) => Object.entries(specs(job)).map(([name, spec]) => ({ name: name.toLowerCase(), replicas: spec.replicas ?? 1 })),
    state: newest_condition,
    queue: (job) => (job as TFJob).spec.runPolicy?.schedulingPolicy?.queue ?? job.metadata.annotations?.["scheduling.volcano.sh/queue-name"] ?? "",
    group: (job) => job.metadata.name,
  };
}

const batch: JobKind = {
  key: "job", label: "Job", resource: resources.batch_jobs,
  pod_labels: (name) => `batch.kubernetes.io/job-name=${name}`,
  role_of: () => "pod",
  index_of: (pod) => Number(label(pod, "batch.kubernetes.io/job-completion-index") || 0),
  roles: (job) => [{ name: "pod", replicas: Math.max((job as BatchV1Job).spec?.parallelism ?? 1, 1) }],
  state: (job) => {
    const { status, spec } = job as BatchV1Job;
    const ended = status?.conditions?.find((one) => one.status === "True" && ["Complete", "Failed"].includes(one.type as string));
    return ended ? String(ended.type) : spec?.suspend ? "Suspended" : status?.active ? "Running" : "Pending";
  },
  queue: (job) => job.metadata.annotations?.["scheduling.volcano.sh/queue-name"] ?? "",
  group: () => "",
};

const job_set: JobKind = {
  key: "jobset", label: "JobSet", resource: resources.job_sets,
  pod_labels: (name) => `jobset.sigs.k8s.io/jobset-name=${name}`,
  role_of: (pod) => label(pod, "jobset.sigs.k8s.io/replicatedjob-name"),
  index_of: (pod) => Number(label(pod, "jobset.sigs.k8s.io/job-index") || 0) * 1000 + Number(label(pod, "batch.kubernetes.io/job-completion-index") || 0),
  roles: (job) => ((job as JobSet).spec.replicatedJobs ?? []).map((one) => {
    const template = one.template as unknown as { spec?: { parallelism?: number } };
    return { name: one.name, replicas: (one.replicas ?? 1) * (template?.spec?.parallelism ?? 1) };
  }),
  state: (job) => {
    const status = (job as JobSet).status as { terminalState?: string; conditions?: Array<{ type: string; status: string }> } | undefined;
    return status?.terminalState || (status?.conditions?.some((one) => one.type === "Suspended" && one.status === "True") ? "Suspended" : status ? "Running" : "Pending");
  },
  queue: (job) => job.metadata.annotations?.["scheduling.volcano.sh/queue-name"] ?? "",
  group: (job) => job.metadata.name,
};

const train_job: JobKind = {
  ...job_set,
  key: "trainjob", label: "TrainJob", resource: resources.train_jobs,
  roles: (job) => [{ name: "node", replicas: (job as TrainJob).spec.trainer?.numNodes ?? 1 }],
  state: (job) => {
    const conditions = ((job as TrainJob).status?.conditions ?? []) as Array<{ type: string; status: string }>;
    return conditions.filter((one) => one.status === "True").at(-1)?.type ?? "Running";
  },
};

export const job_kinds: JobKind[] = [
  vcjob,
  training("tfjob", "TFJob", resources.tf_jobs, "tfReplicaSpecs"),
  training("pytorchjob", "PyTorchJob", resources.pytorch_jobs, "pytorchReplicaSpecs"),
  training("mpijob", "MPIJob", resources.mpi_jobs, "mpiReplicaSpecs"),
  training("xgboostjob", "XGBoostJob", resources.xgboost_jobs, "xgbReplicaSpecs"),
  training("paddlejob", "PaddleJob", resources.paddle_jobs, "paddleReplicaSpecs"),
  training("jaxjob", "JAXJob", resources.jax_jobs, "jaxReplicaSpecs"),
  training("mxjob", "MXJob", resources.mx_jobs, "mxReplicaSpecs"),
  train_job, job_set, batch,
];

export const job_kind = (key: string): JobKind | undefined => job_kinds.find((kind) => kind.key === key);

const TONES: Record<string, Tone> = {
  Pending: "wait", Created: "wait", Inqueue: "wait", Queuing: "wait", Suspended: "wait", Aborted: "done", Aborting: "done",
  Running: "run", Restarting: "place", Completing: "run", Terminating: "place", Completed: "done", Complete: "done",
  Succeeded: "done", Terminated: "fail", Failed: "fail",
};
export const job_tone = (state: string): Tone => TONES[state] ?? "wait";

// A pod's place on its way: not made yet, waiting for a node, placed and starting, running, ended.
export type Stage = "none" | "wait" | "place" | "run" | "done" | "fail";
export function stage_of(pod: CoreV1Pod | undefined): Stage {
  switch (pod?.status?.phase) {
    case undefined: return pod ? "wait" : "none";
    case "Running": return "run";
    case "Succeeded": return "done";
    case "Failed": return "fail";
    default: return pod?.spec?.nodeName ? "place" : "wait";
  }
}

export interface Member { role: string; index: number; pod?: CoreV1Pod; stage: Stage }

// Every replica that the job shall have, with its pod where there is one.
export function members(kind: JobKind, job: KubeObject, pods: CoreV1Pod[]): Map<string, Member[]> {
  const out = new Map<string, Member[]>();
  const found = new Map<string, CoreV1Pod>();
  for (const pod of pods) {
    const key = `${kind.role_of(pod)}/${kind.index_of(pod)}`;
    const other = found.get(key);
    if (!other || (other.metadata?.creationTimestamp ?? "") < (pod.metadata?.creationTimestamp ?? "")) found.set(key, pod);
  }
  for (const role of kind.roles(job)) {
    const row: Member[] = [];
    for (let index = 0; index < Math.min(role.replicas, 4096); index++) {
      const pod = found.get(`${role.name}/${index}`);
      found.delete(`${role.name}/${index}`);
      row.push({ role: role.name, index, pod, stage: stage_of(pod) });
    }
    out.set(role.name, row);
  }
  for (const pod of found.values()) {
    const role = kind.role_of(pod) || "pod";
    if (!out.has(role)) out.set(role, []);
    out.get(role)!.push({ role, index: kind.index_of(pod), pod, stage: stage_of(pod) });
  }
  return out;
}

export const minimum = (group: PodGroup | undefined, job: KubeObject): number =>
  group?.spec.minMember ?? (job as VolcanoJob).spec.minAvailable ?? 0;

// Counts of a job's pods as its own status has them, for lists that do not read pods.
export function counts(job: KubeObject): { run: number; wait: number; done: number; fail: number } {
  const status = ((job as VolcanoJob).status ?? {}) as Record<string, unknown>;
  const replicas = status.replicaStatuses as Record<string, { active?: number; succeeded?: number; failed?: number }> | undefined;
  if (replicas) {
    const all = Object.values(replicas);
    const sum = (member: "active" | "succeeded" | "failed") => all.reduce((total, one) => total + (one[member] ?? 0), 0);
    return { run: sum("active"), wait: 0, done: sum("succeeded"), fail: sum("failed") };
  }
  const number = (...names: string[]) => names.reduce((total, name) => total + Number(status[name] ?? 0), 0);
  return { run: number("running", "active"), wait: number("pending"), done: number("succeeded"), fail: number("failed") };
}
