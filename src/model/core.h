// The built-in kinds as far as Hekla's own components read them. What a controller only passes on
// stays opaque (json::Value), so nothing a user wrote is lost.
#pragma once

#include "model/meta.h"
#include "model/quantity.h"

namespace hekla::model {

struct ResourceRequirements {
  ResourceList limits, requests;
};
BOOST_DESCRIBE_STRUCT(ResourceRequirements, (), (limits, requests))

struct ContainerPort {
  std::string name, protocol, hostIP;
  std::int32_t containerPort = 0, hostPort = 0;
};
BOOST_DESCRIBE_STRUCT(ContainerPort, (), (name, protocol, hostIP, containerPort, hostPort))

struct VolumeMount {
  std::string name, mountPath, subPath, subPathExpr, mountPropagation;
  bool readOnly = false;
};
BOOST_DESCRIBE_STRUCT(VolumeMount, (),
                      (name, mountPath, subPath, subPathExpr, mountPropagation, readOnly))

struct EnvVar {
  std::string name, value;
  json::Value valueFrom;
};
BOOST_DESCRIBE_STRUCT(EnvVar, (), (name, value, valueFrom))

struct Container {
  std::string name, image, imagePullPolicy, workingDir, restartPolicy;
  std::vector<std::string> command, args;
  std::vector<EnvVar> env;
  std::vector<json::Value> envFrom;
  std::vector<ContainerPort> ports;
  ResourceRequirements resources;
  std::vector<VolumeMount> volumeMounts;
  json::Value livenessProbe, readinessProbe, startupProbe, lifecycle, securityContext;
  std::string terminationMessagePath, terminationMessagePolicy;
  bool stdin = false, stdinOnce = false, tty = false;
};
BOOST_DESCRIBE_STRUCT(Container, (),
                      (name, image, imagePullPolicy, workingDir, restartPolicy, command, args, env,
                       envFrom, ports, resources, volumeMounts, livenessProbe, readinessProbe,
                       startupProbe, lifecycle, securityContext, terminationMessagePath,
                       terminationMessagePolicy, stdin, stdinOnce, tty))

struct Toleration {
  std::string key, op, value, effect;  // op is "operator"
  std::optional<std::int64_t> tolerationSeconds;
  static Result<Toleration> from_node(const json::Node& node);
  static Result<Toleration> from_json(const json::Value& value) { return from_node(value); }
  json::Value to_json() const;
};

struct Taint {
  std::string key, value, effect;
};
BOOST_DESCRIBE_STRUCT(Taint, (), (key, value, effect))

struct SchedulingGate {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(SchedulingGate, (), (name))

struct PodSpec {
  std::vector<Container> containers, initContainers;
  std::vector<json::Value> volumes;
  std::string nodeName, schedulerName, restartPolicy, serviceAccountName, hostname, subdomain,
      priorityClassName, preemptionPolicy, dnsPolicy, runtimeClassName;
  std::optional<std::int32_t> priority;
  std::map<std::string, std::string> nodeSelector;
  json::Value affinity, securityContext, dnsConfig;
  std::vector<Toleration> tolerations;
  std::vector<json::Value> topologySpreadConstraints, hostAliases, imagePullSecrets, resourceClaims;
  std::vector<SchedulingGate> schedulingGates;
  std::optional<std::int64_t> activeDeadlineSeconds, terminationGracePeriodSeconds;
  ResourceList overhead;
  ResourceRequirements resources;
  bool hostNetwork = false, hostPID = false, hostIPC = false;
  std::optional<bool> automountServiceAccountToken, enableServiceLinks, shareProcessNamespace;
};
BOOST_DESCRIBE_STRUCT(PodSpec, (),
                      (containers, initContainers, volumes, nodeName, schedulerName, restartPolicy,
                       serviceAccountName, hostname, subdomain, priorityClassName, preemptionPolicy,
                       dnsPolicy, runtimeClassName, priority, nodeSelector, affinity,
                       securityContext, dnsConfig, tolerations, topologySpreadConstraints,
                       hostAliases, imagePullSecrets, resourceClaims, schedulingGates,
                       activeDeadlineSeconds, terminationGracePeriodSeconds, overhead, resources,
                       hostNetwork, hostPID, hostIPC, automountServiceAccountToken,
                       enableServiceLinks, shareProcessNamespace))

struct ContainerStateTerminated {
  std::int32_t exitCode = 0, signal = 0;
  std::string reason, message, containerID;
  Time startedAt, finishedAt;
};
BOOST_DESCRIBE_STRUCT(ContainerStateTerminated, (),
                      (exitCode, signal, reason, message, containerID, startedAt, finishedAt))
struct ContainerStateRunning {
  Time startedAt;
};
BOOST_DESCRIBE_STRUCT(ContainerStateRunning, (), (startedAt))
struct ContainerStateWaiting {
  std::string reason, message;
};
BOOST_DESCRIBE_STRUCT(ContainerStateWaiting, (), (reason, message))
struct ContainerState {
  std::optional<ContainerStateWaiting> waiting;
  std::optional<ContainerStateRunning> running;
  std::optional<ContainerStateTerminated> terminated;
};
BOOST_DESCRIBE_STRUCT(ContainerState, (), (waiting, running, terminated))

struct ContainerStatus {
  std::string name, image, imageID, containerID;
  bool ready = false;
  std::optional<bool> started;
  std::int32_t restartCount = 0;
  ContainerState state, lastState;
  ResourceList allocatedResources;
  std::optional<ResourceRequirements> resources;
};
BOOST_DESCRIBE_STRUCT(ContainerStatus, (),
                      (name, image, imageID, containerID, ready, started, restartCount, state,
                       lastState, allocatedResources, resources))

struct PodCondition {
  std::string type, status, reason, message;
  Time lastProbeTime, lastTransitionTime;
};
BOOST_DESCRIBE_STRUCT(PodCondition, (),
                      (type, status, reason, message, lastProbeTime, lastTransitionTime))

struct PodStatus {
  std::string phase, reason, message, hostIP, podIP, nominatedNodeName, qosClass;
  Time startTime;
  std::vector<PodCondition> conditions;
  std::vector<ContainerStatus> containerStatuses, initContainerStatuses;
  std::vector<json::Value> resourceClaimStatuses;
};
BOOST_DESCRIBE_STRUCT(PodStatus, (),
                      (phase, reason, message, hostIP, podIP, nominatedNodeName, qosClass,
                       startTime, conditions, containerStatuses, initContainerStatuses,
                       resourceClaimStatuses))

struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
};
BOOST_DESCRIBE_STRUCT(Pod, (), (metadata, spec, status))

struct NodeSpec {
  bool unschedulable = false;
  std::vector<Taint> taints;
  std::string podCIDR;
};
BOOST_DESCRIBE_STRUCT(NodeSpec, (), (unschedulable, taints, podCIDR))
struct NodeStatus {
  ResourceList capacity, allocatable;
  std::vector<json::Value> conditions, images;
};
BOOST_DESCRIBE_STRUCT(NodeStatus, (), (capacity, allocatable, conditions, images))
struct Node {
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;
};
BOOST_DESCRIBE_STRUCT(Node, (), (metadata, spec, status))

struct ServicePort {
  std::string name, protocol;
  std::int32_t port = 0, nodePort = 0;
  json::Value targetPort;
};
BOOST_DESCRIBE_STRUCT(ServicePort, (), (name, protocol, port, nodePort, targetPort))
struct ServiceSpec {
  std::map<std::string, std::string> selector;
  std::string clusterIP, type, externalName;
  std::vector<ServicePort> ports;
  bool publishNotReadyAddresses = false;
};
BOOST_DESCRIBE_STRUCT(ServiceSpec, (),
                      (selector, clusterIP, type, externalName, ports, publishNotReadyAddresses))
struct Service {
  ObjectMeta metadata;
  ServiceSpec spec;
};
BOOST_DESCRIBE_STRUCT(Service, (), (metadata, spec))

struct ConfigMap {
  ObjectMeta metadata;
  std::map<std::string, std::string> data, binaryData;
};
BOOST_DESCRIBE_STRUCT(ConfigMap, (), (metadata, data, binaryData))

struct Secret {
  ObjectMeta metadata;
  std::map<std::string, std::string> data;  // base64
  std::string type;
};
BOOST_DESCRIBE_STRUCT(Secret, (), (metadata, data, type))

struct PriorityClass {
  ObjectMeta metadata;
  std::int32_t value = 0;
  bool globalDefault = false;
  std::string preemptionPolicy;
};
BOOST_DESCRIBE_STRUCT(PriorityClass, (), (metadata, value, globalDefault, preemptionPolicy))

// What Kubernetes charges a pod for when it schedules it: max(sum of containers and sidecars, init
// peaks) plus overhead; pod-level resources win. Without the implicit `pods: 1`.
ResourceList pod_requests(const PodSpec& spec);
// The same of a pod whose containers may be in the middle of a resize: they are charged with the
// most of what they ask for, have been promised and have.
ResourceList pod_requests(const Pod& pod);

}  // namespace hekla::model

// Compiled once, in core.cpp.
JSON_CODEC_EXTERN(hekla::model::Quantity);
JSON_CODEC_EXTERN(hekla::model::ResourceList);
JSON_CODEC_EXTERN(hekla::model::Container);
JSON_CODEC_EXTERN(hekla::model::PodSpec);
JSON_CODEC_EXTERN(hekla::model::PodStatus);
JSON_CODEC_EXTERN(hekla::model::Pod);
JSON_CODEC_EXTERN(hekla::model::Node);
JSON_CODEC_EXTERN(hekla::model::Service);
JSON_CODEC_EXTERN(hekla::model::ConfigMap);
JSON_CODEC_EXTERN(hekla::model::Secret);
JSON_CODEC_EXTERN(hekla::model::PriorityClass);
JSON_CODEC_EXTERN(std::vector<hekla::model::Container>);
JSON_CODEC_EXTERN(std::vector<hekla::model::PodCondition>);
