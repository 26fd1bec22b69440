// From the form's fields to the object that is sent.
export interface JobForm { kind: keyof typeof KINDS; name: string; image: string; command: string; replicas: number[]; cpu: string; memory: string; gpu: string; queue: string; gang: boolean }

export const KINDS = {
  vcjob: { label: "Volcano Job", roles: ["worker"] },
  pytorch: { label: "PyTorchJob", roles: ["Master", "Worker"] },
  tf: { label: "TFJob", roles: ["Chief", "PS", "Worker"] },
  mpi: { label: "MPIJob", roles: ["Launcher", "Worker"] },
  job: { label: "Job", roles: ["pod"] },
} as const;

const base = { name: "", image: "busybox:1.36", cpu: "1", memory: "512Mi", gpu: "", queue: "default", gang: true };
export const FORMS: Array<{ key: string; says: string; form: JobForm }> = [
  { key: "vcjob", says: "Equal pods that start together", form: { ...base, kind: "vcjob", replicas: [3], command: "echo hello from $VC_TASK_INDEX; sleep 30" } },
  { key: "pytorch", says: "Distributed PyTorch: a master and workers", form: { ...base, kind: "pytorch", image: "pytorch/pytorch:latest", replicas: [1, 2], command: "python train.py" } },
  { key: "tf", says: "TensorFlow with parameter servers", form: { ...base, kind: "tf", image: "tensorflow/tensorflow:latest", replicas: [1, 1, 2], command: "python train.py" } },
  { key: "mpi", says: "mpirun over workers", form: { ...base, kind: "mpi", image: "mpioperator/mpi-pi:openmpi", replicas: [1, 2], command: "mpirun -n 2 /home/mpiuser/pi" } },
  { key: "job", says: "A plain Kubernetes Job", form: { ...base, kind: "job", gang: false, replicas: [1], command: "echo hello; sleep 10" } },
];

function template(form: JobForm, container: string, restart: string, launcher = false) {
  const requests: Record<string, string> = {};
  if (form.cpu) requests.cpu = form.cpu;
  if (form.memory) requests.memory = form.memory;
  const limits = form.gpu && !launcher ? { "nvidia.com/gpu": form.gpu } : undefined;
  return { spec: { restartPolicy: restart, containers: [{ name: container, image: form.image, command: ["/bin/sh", "-c", form.command], resources: { requests, ...(limits ? { limits } : {}) } }] } };
}

export function make_job(form: JobForm, ns: string): unknown {
  const metadata = { name: form.name || "my-job", namespace: ns };
  const scheduling = { schedulingPolicy: { queue: form.queue, ...(form.gang ? { minAvailable: form.replicas.reduce((sum, n) => sum + n, 0) } : {}) } };
  const training = (kind: string, member: string, container: string, roles: readonly string[]) => ({
    apiVersion: "kubeflow.org/v1", kind, metadata,
    spec: { runPolicy: { cleanPodPolicy: "None", ...scheduling }, [member]: Object.fromEntries(roles.map((role, at) => [role, { replicas: form.replicas[at] ?? 0, restartPolicy: "Never", template: { spec: { ...template(form, container, "Never").spec, restartPolicy: undefined } } }] as const).filter(([, spec]) => spec.replicas > 0)) },
  });
  switch (form.kind) {
    case "vcjob":
      return { apiVersion: "batch.volcano.sh/v1alpha1", kind: "Job", metadata, spec: { schedulerName: "volcano", queue: form.queue, minAvailable: form.gang ? form.replicas[0] : 1, plugins: { env: [], svc: [] }, policies: [{ event: "PodEvicted", action: "RestartJob" }, { event: "TaskCompleted", action: "CompleteJob" }], tasks: [{ name: "worker", replicas: form.replicas[0], template: template(form, "worker", "Never") }] } };
    case "pytorch": return clean(training("PyTorchJob", "pytorchReplicaSpecs", "pytorch", KINDS.pytorch.roles));
    case "tf": return clean(training("TFJob", "tfReplicaSpecs", "tensorflow", KINDS.tf.roles));
    case "mpi":
      return { apiVersion: "kubeflow.org/v2beta1", kind: "MPIJob", metadata, spec: { slotsPerWorker: 1, runPolicy: { cleanPodPolicy: "Running", ...scheduling }, mpiReplicaSpecs: { Launcher: { replicas: 1, template: template(form, "mpi", "Never", true) }, Worker: { replicas: form.replicas[1], template: { spec: { containers: [{ ...template(form, "mpi", "Never").spec.containers[0], command: undefined }] } } } } } };
    default:
      return { apiVersion: "batch/v1", kind: "Job", metadata: { ...metadata, ...(form.queue !== "default" ? { annotations: { "scheduling.volcano.sh/queue-name": form.queue } } : {}) }, spec: { parallelism: form.replicas[0], completions: form.replicas[0], template: template(form, "main", "Never") } };
  }
}
const clean = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
