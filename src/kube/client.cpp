#include "kube/client.h"

#include "base/check.h"

namespace hekla::kube {

void Client::write(Write one, std::move_only_function<void(WriteResult)> done) {
  std::vector<Write> writes;
  writes.push_back(std::move(one));
  batch(std::move(writes), [done = std::move(done)](std::vector<WriteResult> results) mutable {
    CHECK(results.size() == 1);
    done(std::move(results.front()));
  });
}

namespace resources {

const Resource pods{"", "v1", "pods", "Pod"};
const Resource nodes{"", "v1", "nodes", "Node", false};
const Resource services{"", "v1", "services", "Service"};
const Resource endpoints{"", "v1", "endpoints", "Endpoints"};
const Resource config_maps{"", "v1", "configmaps", "ConfigMap"};
const Resource secrets{"", "v1", "secrets", "Secret"};
const Resource namespaces{"", "v1", "namespaces", "Namespace", false};
const Resource events{"", "v1", "events", "Event"};
const Resource service_accounts{"", "v1", "serviceaccounts", "ServiceAccount"};
const Resource persistent_volume_claims{"", "v1", "persistentvolumeclaims",
                                        "PersistentVolumeClaim"};
const Resource persistent_volumes{"", "v1", "persistentvolumes", "PersistentVolume", false};
const Resource endpoint_slices{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"};
const Resource priority_classes{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass",
                                false};
const Resource resource_quotas{"", "v1", "resourcequotas", "ResourceQuota"};
const Resource network_policies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};
const Resource leases{"coordination.k8s.io", "v1", "leases", "Lease"};
const Resource storage_classes{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false};
const Resource replica_sets{"apps", "v1", "replicasets", "ReplicaSet"};
const Resource stateful_sets{"apps", "v1", "statefulsets", "StatefulSet"};
const Resource daemon_sets{"apps", "v1", "daemonsets", "DaemonSet"};
const Resource deployments{"apps", "v1", "deployments", "Deployment"};
const Resource batch_jobs{"batch", "v1", "jobs", "Job"};
const Resource pod_disruption_budgets{"policy", "v1", "poddisruptionbudgets",
                                      "PodDisruptionBudget"};
const Resource custom_resource_definitions{
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false};

const Resource vcjobs{"batch.volcano.sh", "v1alpha1", "jobs", "Job"};
const Resource pod_groups{"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"};
const Resource queues{"scheduling.volcano.sh", "v1beta1", "queues", "Queue", false};
const Resource commands{"bus.volcano.sh", "v1alpha1", "commands", "Command"};
const Resource job_flows{"flow.volcano.sh", "v1alpha1", "jobflows", "JobFlow"};
const Resource job_templates{"flow.volcano.sh", "v1alpha1", "jobtemplates", "JobTemplate"};
const Resource vc_cron_jobs{"batch.volcano.sh", "v1alpha1", "cronjobs", "CronJob"};
const Resource hyper_nodes{"topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", false};
const Resource numatopologies{"nodeinfo.volcano.sh", "v1alpha1", "numatopologies", "Numatopology",
                              false};
const Resource node_shards{"shard.volcano.sh", "v1alpha1", "nodeshards", "NodeShard", false};

const Resource tf_jobs{"kubeflow.org", "v1", "tfjobs", "TFJob"};
const Resource pytorch_jobs{"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"};
const Resource mpi_jobs{"kubeflow.org", "v1", "mpijobs", "MPIJob"};
const Resource xgboost_jobs{"kubeflow.org", "v1", "xgboostjobs", "XGBoostJob"};
const Resource paddle_jobs{"kubeflow.org", "v1", "paddlejobs", "PaddleJob"};
const Resource jax_jobs{"kubeflow.org", "v1", "jaxjobs", "JAXJob"};
const Resource mx_jobs{"kubeflow.org", "v1", "mxjobs", "MXJob"};
const Resource train_jobs{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"};
const Resource training_runtimes{"trainer.kubeflow.org", "v1alpha1", "trainingruntimes",
                                 "TrainingRuntime"};
const Resource cluster_training_runtimes{
    "trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", false};
const Resource job_sets{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"};

}  // namespace resources
}  // namespace hekla::kube
