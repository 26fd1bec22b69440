// Resources by name, and the paths of their objects below the Kubernetes API.
import { custom_kinds, type KubeObject } from "../../generated/kinds";

export type { KubeObject };
export interface Resource { group: string; version: string; plural: string; kind: string; namespaced: boolean }

const builtin = (group: string, version: string, plural: string, kind: string, namespaced = true): Resource =>
  ({ group, version, plural, kind, namespaced });
// A custom kind in the version that is stored; one whose CRD this build does not have is named in full.
const custom = (group: string, plural: string, version = "v1", kind = plural, namespaced = true): Resource =>
  custom_kinds.find((one) => one.group === group && one.plural === plural) ?? { group, version, plural, kind, namespaced };

export const resources = {
  pods: builtin("", "v1", "pods", "Pod"),
  nodes: builtin("", "v1", "nodes", "Node", false),
  events: builtin("", "v1", "events", "Event"),
  namespaces: builtin("", "v1", "namespaces", "Namespace", false),
  claims: builtin("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
  config_maps: builtin("", "v1", "configmaps", "ConfigMap"),
  storage_classes: builtin("storage.k8s.io", "v1", "storageclasses", "StorageClass", false),
  batch_jobs: builtin("batch", "v1", "jobs", "Job"),
  role_bindings: builtin("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
  vcjobs: custom("batch.volcano.sh", "jobs", "v1alpha1", "Job"),
  pod_groups: custom("scheduling.volcano.sh", "podgroups", "v1beta1", "PodGroup"),
  queues: custom("scheduling.volcano.sh", "queues", "v1beta1", "Queue", false),
  tf_jobs: custom("kubeflow.org", "tfjobs", "v1", "TFJob"),
  pytorch_jobs: custom("kubeflow.org", "pytorchjobs", "v1", "PyTorchJob"),
  mpi_jobs: custom("kubeflow.org", "mpijobs", "v2beta1", "MPIJob"),
  xgboost_jobs: custom("kubeflow.org", "xgboostjobs", "v1", "XGBoostJob"),
  paddle_jobs: custom("kubeflow.org", "paddlejobs", "v1", "PaddleJob"),
  jax_jobs: custom("kubeflow.org", "jaxjobs", "v1", "JAXJob"),
  mx_jobs: custom("kubeflow.org", "mxjobs", "v1", "MXJob"),
  job_sets: custom("jobset.x-k8s.io", "jobsets", "v1alpha2", "JobSet"),
  train_jobs: custom("trainer.kubeflow.org", "trainjobs", "v1alpha1", "TrainJob"),
  notebooks: custom("kubeflow.org", "notebooks", "v1", "Notebook"),
  pod_defaults: custom("kubeflow.org", "poddefaults", "v1alpha1", "PodDefault"),
  profiles: custom("kubeflow.org", "profiles", "v1", "Profile", false),
  pvc_viewers: custom("kubeflow.org", "pvcviewers", "v1alpha1", "PVCViewer"),
  tensorboards: custom("tensorboard.kubeflow.org", "tensorboards", "v1alpha1", "Tensorboard"),
} as const;

export const api_version = (resource: Resource): string =>
  resource.group ? `${resource.group}/${resource.version}` : resource.version;

export function path_of(resource: Resource, ns = "", name = "", subresource = ""): string {
  const root = resource.group ? `/apis/${resource.group}/${resource.version}` : `/api/${resource.version}`;
  const scope = resource.namespaced && ns ? `/namespaces/${encodeURIComponent(ns)}` : "";
  return `${root}${scope}/${resource.plural}${name ? `/${encodeURIComponent(name)}` : ""}${subresource ? `/${subresource}` : ""}`;
}

// "batch.volcano.sh/v1alpha1/jobs", as the stream names a resource.
export const resource_name = (resource: Resource): string => `${api_version(resource)}/${resource.plural}`;

export const uid_of = (object: KubeObject): string => object.metadata.uid ?? `${object.metadata.namespace}/${object.metadata.name}`;
