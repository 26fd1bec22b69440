// Volcano's kinds (batch, scheduling, bus), wire spelling.
#pragma once

#include "model/core.h"

namespace hekla::model {

// {mode: hard|soft, highestTierAllowed, highestTierName}
struct NetworkTopologySpec {
  std::string mode, highestTierName;
  std::optional<std::int32_t> highestTierAllowed;
};
BOOST_DESCRIBE_STRUCT(NetworkTopologySpec, (), (mode, highestTierName, highestTierAllowed))

struct LifecyclePolicy {
  std::string action, event;
  std::vector<std::string> events;
  std::optional<std::int32_t> exitCode;
  std::string timeout;  // Go duration
};
BOOST_DESCRIBE_STRUCT(LifecyclePolicy, (), (action, event, events, exitCode, timeout))

struct DependsOn {
  std::vector<std::string> name;
  std::string iteration;
};
BOOST_DESCRIBE_STRUCT(DependsOn, (), (name, iteration))

struct PartitionPolicy {
  std::int32_t totalPartitions = 0, partitionSize = 0, minPartitions = 0;
  std::optional<NetworkTopologySpec> networkTopology;
};
BOOST_DESCRIBE_STRUCT(PartitionPolicy, (),
                      (totalPartitions, partitionSize, minPartitions, networkTopology))

struct TaskSpec {
  std::string name, topologyPolicy;
  std::int32_t replicas = 0, maxRetry = 0;
  std::optional<std::int32_t> minAvailable;
  json::Value podTemplate;  // wire name "template"
  std::vector<LifecyclePolicy> policies;
  std::optional<DependsOn> dependsOn;
  std::optional<PartitionPolicy> partitionPolicy;
  static Result<TaskSpec> from_node(const json::Node& node);
  static Result<TaskSpec> from_json(const json::Value& value) { return from_node(value); }
  json::Value to_json() const;
};

struct JobVolume {
  std::string mountPath, volumeClaimName;
  json::Value volumeClaim;
};
BOOST_DESCRIBE_STRUCT(JobVolume, (), (mountPath, volumeClaimName, volumeClaim))

struct VcJobSpec {
  std::string schedulerName, queue, priorityClassName, runningEstimate;
  std::int32_t minAvailable = 0, maxRetry = 0;
  std::optional<std::int32_t> minSuccess, ttlSecondsAfterFinished;
  std::vector<TaskSpec> tasks;
  std::vector<JobVolume> volumes;
  std::vector<LifecyclePolicy> policies;
  std::map<std::string, std::vector<std::string>> plugins;
  std::optional<NetworkTopologySpec> networkTopology;
};
BOOST_DESCRIBE_STRUCT(VcJobSpec, (),
                      (schedulerName, queue, priorityClassName, runningEstimate, minAvailable,
                       maxRetry, minSuccess, ttlSecondsAfterFinished, tasks, volumes, policies,
                       plugins, networkTopology))

struct VcJobState {
  std::string phase, reason, message;
  Time lastTransitionTime;
};
BOOST_DESCRIBE_STRUCT(VcJobState, (), (phase, reason, message, lastTransitionTime))
struct TaskState {
  std::map<std::string, std::int32_t> phase;
};
BOOST_DESCRIBE_STRUCT(TaskState, (), (phase))
struct VcJobCondition {
  std::string status;
  Time lastTransitionTime;
};
BOOST_DESCRIBE_STRUCT(VcJobCondition, (), (status, lastTransitionTime))
struct VcJobStatus {
  VcJobState state;
  std::int32_t minAvailable = 0, pending = 0, running = 0, succeeded = 0, failed = 0,
               terminating = 0, unknown = 0, version = 0, retryCount = 0;
  std::map<std::string, TaskState> taskStatusCount;
  std::string runningDuration;
  std::map<std::string, std::string> controlledResources;
  std::vector<VcJobCondition> conditions;
};
BOOST_DESCRIBE_STRUCT(VcJobStatus, (),
                      (state, minAvailable, pending, running, succeeded, failed, terminating,
                       unknown, version, retryCount, taskStatusCount, runningDuration,
                       controlledResources, conditions))
struct VcJob {
  ObjectMeta metadata;
  VcJobSpec spec;
  VcJobStatus status;
};
BOOST_DESCRIBE_STRUCT(VcJob, (), (metadata, spec, status))

struct SubGroupPolicy {
  std::string name;
  std::optional<NetworkTopologySpec> networkTopology;
  std::int32_t subGroupSize = 1, minSubGroups = 0;
  json::Value labelSelector;
  std::vector<std::string> matchLabelKeys;
};
BOOST_DESCRIBE_STRUCT(SubGroupPolicy, (),
                      (name, networkTopology, subGroupSize, minSubGroups, labelSelector,
                       matchLabelKeys))
struct PodGroupSpec {
  std::int32_t minMember = 0;
  std::map<std::string, std::int32_t> minTaskMember;
  std::string queue, priorityClassName;
  std::optional<ResourceList> minResources;
  std::optional<NetworkTopologySpec> networkTopology;
  std::vector<SubGroupPolicy> subGroupPolicy;
};
BOOST_DESCRIBE_STRUCT(PodGroupSpec, (),
                      (minMember, minTaskMember, queue, priorityClassName, minResources,
                       networkTopology, subGroupPolicy))
struct PodGroupCondition {
  std::string type, status, transitionID, reason, message;
  Time lastTransitionTime;
};
BOOST_DESCRIBE_STRUCT(PodGroupCondition, (),
                      (type, status, transitionID, lastTransitionTime, reason, message))
struct PodGroupStatus {
  std::string phase;
  std::vector<PodGroupCondition> conditions;
  std::int32_t running = 0, succeeded = 0, failed = 0;
};
BOOST_DESCRIBE_STRUCT(PodGroupStatus, (), (phase, conditions, running, succeeded, failed))
struct PodGroup {
  ObjectMeta metadata;
  PodGroupSpec spec;
  PodGroupStatus status;
};
BOOST_DESCRIBE_STRUCT(PodGroup, (), (metadata, spec, status))

struct QueueGuarantee {
  ResourceList resource;
};
BOOST_DESCRIBE_STRUCT(QueueGuarantee, (), (resource))
struct QueueSpec {
  std::int32_t weight = 0, priority = 0;
  ResourceList capability, deserved;
  std::optional<bool> reclaimable;
  QueueGuarantee guarantee;
  std::string parent, type, dequeueStrategy;
  std::vector<json::Value> extendClusters;
  json::Value affinity;
};
BOOST_DESCRIBE_STRUCT(QueueSpec, (),
                      (weight, priority, capability, deserved, reclaimable, guarantee, parent, type,
                       dequeueStrategy, extendClusters, affinity))
struct QueueStatus {
  std::string state;
  ResourceList allocated;
  std::int32_t unknown = 0, pending = 0, running = 0, inqueue = 0, completed = 0;
};
BOOST_DESCRIBE_STRUCT(QueueStatus, (),
                      (state, allocated, unknown, pending, running, inqueue, completed))
struct Queue {
  ObjectMeta metadata;
  QueueSpec spec;
  QueueStatus status;
};
BOOST_DESCRIBE_STRUCT(Queue, (), (metadata, spec, status))

struct Command {
  ObjectMeta metadata;
  std::string action, reason, message;
  OwnerReference target;
};
BOOST_DESCRIBE_STRUCT(Command, (), (metadata, action, reason, message, target))

// Names the contract fixes (volcano.sh/...).
namespace keys {
inline const std::string group_name = "scheduling.k8s.io/group-name";
inline const std::string queue_name = "scheduling.volcano.sh/queue-name";
inline const std::string task_spec = "volcano.sh/task-spec";
inline const std::string task_index = "volcano.sh/task-index";
inline const std::string job_name = "volcano.sh/job-name";
inline const std::string job_namespace = "volcano.sh/job-namespace";
inline const std::string job_queue = "volcano.sh/queue-name";
inline const std::string job_version = "volcano.sh/job-version";
inline const std::string job_retry_count = "volcano.sh/job-retry-count";
inline const std::string template_uid = "volcano.sh/template-uid";
inline const std::string partition_id = "volcano.sh/partition-id";
inline const std::string out_of_sync = "volcano.sh/controller-out-of-sync";
inline const std::string preemptable = "volcano.sh/preemptable";
inline const std::string cooldown_time = "volcano.sh/cooldown-time";
inline const std::string revocable_zone = "volcano.sh/revocable-zone";
inline const std::string jdb_min_available = "volcano.sh/jdb-min-available";
inline const std::string jdb_max_unavailable = "volcano.sh/jdb-max-unavailable";
inline const std::string numa_topology_policy = "volcano.sh/numa-topology-policy";
inline const std::string task_priority = "volcano.sh/task-priority";
}  // namespace keys

}  // namespace hekla::model

// Compiled once, in volcano.cpp.
JSON_CODEC_EXTERN(hekla::model::TaskSpec);
JSON_CODEC_EXTERN(hekla::model::VcJobSpec);
JSON_CODEC_EXTERN(hekla::model::VcJobStatus);
JSON_CODEC_EXTERN(hekla::model::VcJob);
JSON_CODEC_EXTERN(hekla::model::PodGroupSpec);
JSON_CODEC_EXTERN(hekla::model::PodGroupStatus);
JSON_CODEC_EXTERN(hekla::model::PodGroup);
JSON_CODEC_EXTERN(hekla::model::QueueStatus);
JSON_CODEC_EXTERN(hekla::model::Queue);
JSON_CODEC_EXTERN(hekla::model::Command);
JSON_CODEC_EXTERN(std::vector<hekla::model::LifecyclePolicy>);
