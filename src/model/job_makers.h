// Volcano's kinds that make jobs: CronJob, JobFlow, JobTemplate; and HyperNode. Wire spelling. The
// specs of the jobs they make stay as they were written.
#pragma once

#include "model/volcano.h"

namespace hekla::model {

struct VcCronJobSpec {
  std::string schedule, concurrencyPolicy;
  std::optional<std::string> timeZone;
  std::optional<std::int64_t> startingDeadlineSeconds;
  bool suspend = false;
  json::Value jobTemplate;
  std::optional<std::int32_t> successfulJobsHistoryLimit, failedJobsHistoryLimit;
};
BOOST_DESCRIBE_STRUCT(VcCronJobSpec, (),
                      (schedule, concurrencyPolicy, timeZone, startingDeadlineSeconds, suspend,
                       jobTemplate, successfulJobsHistoryLimit, failedJobsHistoryLimit))
struct JobReference {
  std::string apiVersion, kind, name, ns, uid;
  static Result<JobReference> from_node(const json::Node& node);
  static Result<JobReference> from_json(const json::Value& value) { return from_node(value); }
  json::Value to_json() const;
  bool operator==(const JobReference&) const = default;
};
struct VcCronJobStatus {
  std::vector<JobReference> active;
  Time lastScheduleTime, lastSuccessfulTime;
};
BOOST_DESCRIBE_STRUCT(VcCronJobStatus, (), (active, lastScheduleTime, lastSuccessfulTime))
struct VcCronJob {
  ObjectMeta metadata;
  VcCronJobSpec spec;
  VcCronJobStatus status;
};
BOOST_DESCRIBE_STRUCT(VcCronJob, (), (metadata, spec, status))

struct FlowTaskStatus {
  std::string taskName, phase;
};
BOOST_DESCRIBE_STRUCT(FlowTaskStatus, (), (taskName, phase))
struct FlowProbe {
  std::vector<json::Value> httpGetList, tcpSocketList;
  std::vector<FlowTaskStatus> taskStatusList;
};
BOOST_DESCRIBE_STRUCT(FlowProbe, (), (httpGetList, tcpSocketList, taskStatusList))
struct FlowDependsOn {
  std::vector<std::string> targets;
  std::optional<FlowProbe> probe;
};
BOOST_DESCRIBE_STRUCT(FlowDependsOn, (), (targets, probe))
struct FlowPatch {
  json::Value jobSpec;
};
BOOST_DESCRIBE_STRUCT(FlowPatch, (), (jobSpec))
struct Flow {
  std::string name;
  std::optional<FlowDependsOn> dependsOn;
  std::optional<FlowPatch> patch;
};
BOOST_DESCRIBE_STRUCT(Flow, (), (name, dependsOn, patch))
struct JobFlowSpec {
  std::vector<Flow> flows;
  std::string jobRetainPolicy;
};
BOOST_DESCRIBE_STRUCT(JobFlowSpec, (), (flows, jobRetainPolicy))
// The status is only written, never read beyond its phase.
struct JobFlow {
  ObjectMeta metadata;
  JobFlowSpec spec;
  json::Value status;
};
BOOST_DESCRIBE_STRUCT(JobFlow, (), (metadata, spec, status))
struct JobTemplate {
  ObjectMeta metadata;
  json::Value spec, status;
};
BOOST_DESCRIBE_STRUCT(JobTemplate, (), (metadata, spec, status))

struct HyperNodeMember {
  std::string type;
  json::Value selector;
};
BOOST_DESCRIBE_STRUCT(HyperNodeMember, (), (type, selector))
struct HyperNodeSpec {
  std::vector<HyperNodeMember> members;
};
BOOST_DESCRIBE_STRUCT(HyperNodeSpec, (), (members))
struct HyperNodeStatus {
  std::optional<std::int64_t> nodeCount;
};
BOOST_DESCRIBE_STRUCT(HyperNodeStatus, (), (nodeCount))
struct HyperNode {
  ObjectMeta metadata;
  HyperNodeSpec spec;
  HyperNodeStatus status;
};
BOOST_DESCRIBE_STRUCT(HyperNode, (), (metadata, spec, status))

}  // namespace hekla::model

// Compiled once, in job_makers.cpp.
JSON_CODEC_EXTERN(hekla::model::VcCronJob);
JSON_CODEC_EXTERN(hekla::model::JobFlow);
JSON_CODEC_EXTERN(hekla::model::JobTemplate);
JSON_CODEC_EXTERN(hekla::model::HyperNode);
