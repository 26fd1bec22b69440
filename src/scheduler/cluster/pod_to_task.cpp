#include "scheduler/cluster/pod_to_task.h"

#include <algorithm>
#include <charconv>

#include "json/codec.h"
#include "json/value.h"
#include "scheduler/cluster/pod_neighbours.h"

namespace hekla::scheduler {

namespace {

constexpr std::int64_t kDefaultCpuMilli = 100;
constexpr std::int64_t kDefaultMemoryBytes = 200LL * 1024 * 1024;

const json::Value* node_affinity(const model::Pod& pod) {
  return json::find(pod.spec.affinity, "nodeAffinity");
}

// Annotations (or labels) of pods that plugins read.
constexpr std::string_view kReadAnnotations[] = {
    "volcano.sh/revocable-zone", "volcano.sh/numa-topology-policy", "volcano.sh/cooldown-time",
    "volcano.sh/resource-strategy-scoring-type", "volcano.sh/resource-strategy-weight"};

// Annotations of single pods that plugins read: what devices and cores others have been given.
constexpr const char* kTaskAnnotations[] = {"volcano.sh/gpu-index", "volcano.sh/vgpu-ids-new",
                                            "volcano.sh/vgpu-mode", "nvidia.com/use-gputype",
                                            "nvidia.com/nouse-gputype"};
// The same of nodes.
constexpr const char* kNodeAnnotations[] = {"volcano.sh/gpu-unhealthy-ids",
                                            "volcano.sh/node-vgpu-register"};
const std::string kHandshake = "volcano.sh/node-vgpu-handshake";

const std::string& annotation_or_label(const model::Pod& pod, std::string_view name) {
  std::string key(name);
  // Of the cooldown time the label counts, of the others the annotation.
  if (const std::string& label = pod.metadata.label(key);
      !label.empty() && key == model::keys::cooldown_time)
    return label;
  const std::string& value = pod.metadata.annotation(key);
  return value.empty() ? pod.metadata.label(key) : value;
}

// "busybox" is "busybox:latest", as the container runtime reports it.
std::string normalized_image(const std::string& image) {
  std::size_t colon = image.rfind(':'), slash = image.rfind('/');
  bool tagged = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  return tagged ? image : image + ":latest";
}

Effect effect_of(const std::string& text) {
  if (text == "NoSchedule") return Effect::no_schedule;
  if (text == "PreferNoSchedule") return Effect::prefer_no_schedule;
  if (text == "NoExecute") return Effect::no_execute;
  return Effect::any;
}

void add_affinity(const json::Value& affinity, Names& names, PodClass& out) {
  if (const json::Array* terms = json::array_at(
          affinity, {"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"})) {
    out.has_required_terms = true;
    for (const json::Value& term : *terms)
      out.required_terms.push_back(make_node_term(term, names));
  }
  if (const json::Array* preferred =
          json::array_at(affinity, {"preferredDuringSchedulingIgnoredDuringExecution"})) {
    for (const json::Value& one : *preferred) {
      const json::Value* preference = json::find(one, "preference");
      if (preference == nullptr) continue;
      out.preferred_terms.push_back(
          {json::int_at(one, {"weight"}), make_node_term(*preference, names)});
    }
  }
}

// The request as scores see it: a container that names no amount of cpu or memory counts with a
// default. Where the pod as a whole names one, none is missing.
void add_nonzero(const model::Pod& pod, PodClass& out) {
  out.nonzero_cpu = out.request[kCpu];
  out.nonzero_memory = out.request[kMemory];
  const std::pair<const char*, model::Quantity> defaults[] = {
      {"cpu", model::Quantity::of_milli(kDefaultCpuMilli)},
      {"memory", model::Quantity::of(kDefaultMemoryBytes)}};
  auto lacks = [&](const model::Container& container) {
    return std::ranges::any_of(defaults, [&](const auto& one) {
      return !container.resources.requests.contains(one.first);
    });
  };
  if (std::ranges::none_of(pod.spec.containers, lacks) &&
      std::ranges::none_of(pod.spec.initContainers, lacks))
    return;
  model::Pod filled;
  filled.spec = pod.spec;
  filled.status = pod.status;
  for (auto* containers : {&filled.spec.containers, &filled.spec.initContainers})
    for (model::Container& container : *containers)
      for (const auto& [name, amount] : defaults)
        if (!pod.spec.resources.requests.contains(name))
          container.resources.requests.try_emplace(name, amount);
  model::ResourceList total = model::pod_requests(filled);
  out.nonzero_cpu = std::min(total["cpu"].milli_value(), kMostOfAPod);
  out.nonzero_memory = std::min(total["memory"].value(), kMostOfAPod);
}

void add_containers(const model::PodSpec& spec, Names& names, PodClass& out) {
  for (const model::Container& container : spec.containers) {
    out.images.push_back(names.intern(normalized_image(container.image)));
    for (const model::ContainerPort& port : container.ports) {
      if (port.hostPort == 0) continue;
      HostPort used;
      if (!port.hostIP.empty() && port.hostIP != "0.0.0.0") used.ip = names.intern(port.hostIP);
      used.protocol = names.intern(port.protocol.empty() ? "TCP" : port.protocol);
      used.port = port.hostPort;
      out.ports.push_back(used);
    }
  }
  out.containers = static_cast<std::int32_t>(spec.containers.size());
}

}  // namespace

NodeRequirement make_requirement(const json::Value& expression, Names& names) {
  using Op = model::Selector::Op;
  NodeRequirement out;
  out.key = names.intern(json::string_at(expression, {"key"}));
  std::string_view op = json::string_at(expression, {"operator"});
  if (op == "In")
    out.op = Op::in;
  else if (op == "NotIn")
    out.op = Op::not_in;
  else if (op == "Exists")
    out.op = Op::exists;
  else if (op == "DoesNotExist")
    out.op = Op::absent;
  else if (op == "Gt")
    out.op = Op::greater;
  else if (op == "Lt")
    out.op = Op::less;
  else
    out.unreadable = true;
  std::string_view first;
  if (const json::Array* values = json::array_at(expression, {"values"})) {
    for (const json::Value& value : *values) {
      if (!value.is_string()) continue;
      if (out.values.empty()) first = json::sv(value.get_string());
      out.values.push_back(names.intern(json::sv(value.get_string())));
    }
  }
  if (out.op == Op::greater || out.op == Op::less) {
    auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), out.bound);
    if (error != std::errc() || end != first.data() + first.size()) out.unreadable = true;
  }
  return out;
}

NodeTerm make_node_term(const json::Value& value, Names& names) {
  NodeTerm term;
  if (const json::Array* expressions = json::array_at(value, {"matchExpressions"}))
    for (const json::Value& one : *expressions) term.labels.push_back(make_requirement(one, names));
  if (const json::Array* fields = json::array_at(value, {"matchFields"})) {
    for (const json::Value& one : *fields) {
      NodeRequirement requirement = make_requirement(one, names);
      if (json::string_at(one, {"key"}) != "metadata.name") requirement.unreadable = true;
      term.fields.push_back(std::move(requirement));
    }
  }
  return term;
}

PodToleration make_toleration(const model::Toleration& from, Names& names) {
  PodToleration toleration;
  if (!from.key.empty()) toleration.key = names.intern(from.key);
  toleration.value = names.intern(from.value);
  toleration.exists = from.op == "Exists";
  toleration.effect = effect_of(from.effect);
  return toleration;
}

std::string class_key(const model::Pod& pod) {
  std::string key;
  key.reserve(160);
  auto part = [&](std::string_view text) { key.append(text).push_back('\x1f'); };
  for (const auto& [name, quantity] : model::pod_requests(pod)) {
    part(name);
    part(std::to_string(quantity.milli_value()));
  }
  key.push_back('\x1e');
  for (const auto& [label, value] : pod.spec.nodeSelector) part(label), part(value);
  key.push_back('\x1e');
  if (const json::Value* affinity = node_affinity(pod)) key += json::serialize(*affinity);
  key.push_back('\x1e');
  for (const model::Toleration& t : pod.spec.tolerations)
    part(t.key), part(t.op), part(t.value), part(t.effect);
  key.push_back('\x1e');
  auto compute = [&](const model::ResourceList& amounts) {
    for (const auto& [name, quantity] : amounts)
      if (name == "cpu" || name == "memory")
        part(name), part(std::to_string(quantity.milli_value()));
  };
  for (const model::Container& container : pod.spec.containers) {
    part(container.image);
    compute(container.resources.requests);
    for (const model::ContainerPort& port : container.ports)
      if (port.hostPort != 0)
        part(port.hostIP), part(port.protocol), part(std::to_string(port.hostPort));
    key.push_back('\x1d');
  }
  for (const model::Container& container : pod.spec.initContainers) {
    compute(container.resources.requests);
    part(container.restartPolicy);
    key.push_back('\x1d');
  }
  compute(pod.spec.overhead);
  for (std::string_view name : kReadAnnotations)
    if (const std::string& value = annotation_or_label(pod, name); !value.empty())
      part(name), part(value);
  return key;
}

PodClass make_class(const model::Pod& pod, std::string key, Names& names,
                    const Dimensions& dimensions) {
  PodClass out;
  out.request = dimensions.request(model::pod_requests(pod), out.unknown, kMostOfAPod);
  out.best_effort = out.request.is_empty();
  out.request.set(kPods, 1);
  for (const auto& [label, value] : pod.spec.nodeSelector)
    out.node_selector.emplace_back(names.intern(label), names.intern(value));
  if (const json::Value* affinity = node_affinity(pod)) add_affinity(*affinity, names, out);
  for (const model::Toleration& t : pod.spec.tolerations)
    out.tolerations.push_back(make_toleration(t, names));
  add_nonzero(pod, out);
  add_containers(pod.spec, names, out);
  for (std::string_view name : kReadAnnotations)
    if (const std::string& value = annotation_or_label(pod, name); !value.empty())
      out.annotations.emplace_back(name, value);
  out.base_key = std::move(key);
  return out;
}

std::vector<NamedClaim> claims_of(const model::Pod& pod) {
  std::vector<NamedClaim> out;
  for (const json::Value& volume : pod.spec.volumes) {
    std::string_view name = json::string_at(volume, {"persistentVolumeClaim", "claimName"});
    if (!name.empty())
      out.push_back({std::string(name), false});
    else if (json::find(volume, "ephemeral") != nullptr)
      out.push_back(
          {pod.metadata.name + "-" + std::string(json::string_at(volume, {"name"})), true});
  }
  return out;
}

TaskStatus status_of(const model::Pod& pod) {
  const std::string& phase = pod.status.phase;
  if (phase == "Succeeded") return TaskStatus::succeeded;
  if (phase == "Failed") return TaskStatus::failed;
  if (phase == "Unknown") return TaskStatus::unknown;
  if (pod.metadata.deletionTimestamp) return TaskStatus::releasing;
  if (phase == "Running") return TaskStatus::running;
  return pod.spec.nodeName.empty() ? TaskStatus::pending : TaskStatus::bound;
}

namespace {

// Requests and limits of cpu and memory are there and equal in every container.
bool is_guaranteed(const model::PodSpec& spec) {
  auto equal = [](const model::Container& one, const char* name) {
    auto limit = one.resources.limits.find(name);
    if (limit == one.resources.limits.end() || limit->second.is_zero()) return false;
    auto request = one.resources.requests.find(name);
    return request == one.resources.requests.end() || request->second == limit->second;
  };
  auto bound = [&](const model::Container& one) {
    return equal(one, "cpu") && equal(one, "memory");
  };
  return std::all_of(spec.containers.begin(), spec.containers.end(), bound) &&
         std::all_of(spec.initContainers.begin(), spec.initContainers.end(), bound);
}

void add_devices(const std::vector<model::Container>& containers, bool init,
                 std::vector<DeviceRequest>& out) {
  for (const model::Container& container : containers) {
    const model::ResourceList& limits = container.resources.limits;
    auto first = limits.lower_bound("volcano.sh/");
    if (first == limits.end() || !first->first.starts_with("volcano.sh/")) continue;
    auto amount = [&](const char* name) {
      auto found = limits.find(name);
      return found == limits.end() ? 0 : found->second.value();
    };
    DeviceRequest request;
    request.init = init;
    request.gpu_memory = amount("volcano.sh/gpu-memory");
    request.gpu_number = amount("volcano.sh/gpu-number");
    request.vgpu_number = amount("volcano.sh/vgpu-number");
    request.vgpu_memory = amount("volcano.sh/vgpu-memory");
    request.vgpu_percent = amount("volcano.sh/vgpu-memory-percentage");
    request.vgpu_cores = amount("volcano.sh/vgpu-cores");
    // Memory alone is memory of one card.
    if (request.vgpu_number == 0 && request.vgpu_memory > 0) request.vgpu_number = 1;
    out.push_back(request);
  }
}

std::vector<ExclusiveCpus> exclusive_cpus(const model::PodSpec& spec) {
  std::vector<ExclusiveCpus> out;
  if (!is_guaranteed(spec)) return out;
  for (const model::Container& one : spec.containers) {
    std::int64_t milli = one.resources.limits.at("cpu").milli_value();
    out.push_back({one.name, milli % 1000 == 0 ? static_cast<std::int32_t>(milli / 1000) : 0});
  }
  return out;
}

}  // namespace

std::vector<DeviceClaim> device_claims_of(const model::Pod& pod) {
  std::vector<DeviceClaim> out;
  for (const json::Value& one : pod.spec.resourceClaims) {
    DeviceClaim claim{std::string(json::string_at(one, {"name"})),
                      std::string(json::string_at(one, {"resourceClaimName"}))};
    for (const json::Value& status : pod.status.resourceClaimStatuses)
      if (claim.object.empty() && json::string_at(status, {"name"}) == claim.name)
        claim.object = std::string(json::string_at(status, {"resourceClaimName"}));
    out.push_back(std::move(claim));
  }
  return out;
}

void fill_task_annotations(const model::Pod& pod, Task& task) {
  task.annotations.clear();
  if (pod.metadata.annotations.empty()) return;
  for (const char* name : kTaskAnnotations)
    if (const std::string& value = pod.metadata.annotation(name); !value.empty())
      task.annotations.emplace_back(name, value);
}

bool fill_standing(const model::Pod& pod, Task& task) {
  const model::ObjectMeta& meta = pod.metadata;
  std::int32_t priority = pod.spec.priority.value_or(1);
  if (const std::string& text = meta.annotation(model::keys::task_priority); !text.empty())
    std::from_chars(text.data(), text.data() + text.size(), priority);
  const std::string& marked = meta.annotation(model::keys::preemptable);
  bool preemptable = (marked.empty() ? meta.label(model::keys::preemptable) : marked) != "false";
  const std::string& zone = meta.annotation(model::keys::revocable_zone);
  bool revocable = zone.empty() ? marked == "true" : zone == "*";
  bool other =
      priority != task.priority || preemptable != task.preemptable || revocable != task.revocable;
  task.priority = priority;
  task.preemptable = preemptable;
  task.revocable = revocable;
  return other;
}

void fill_task(const model::Pod& pod, Task& task) {
  const model::ObjectMeta& meta = pod.metadata;
  task.ns = meta.ns;
  task.name = meta.name;
  task.uid = meta.uid;
  task.scheduler_name = pod.spec.schedulerName;
  task.gated = !pod.spec.schedulingGates.empty();
  task.created = meta.creationTimestamp.at.value_or(WallTime{});
  task.started = pod.status.startTime.at.value_or(WallTime{});
  fill_standing(pod, task);
  task.critical = meta.ns == "kube-system" ||
                  pod.spec.priorityClassName == "system-cluster-critical" ||
                  pod.spec.priorityClassName == "system-node-critical";
  for (const model::PodCondition& condition : pod.status.conditions)
    if (condition.type == "PodScheduled" && condition.status == "True")
      task.scheduled = condition.lastTransitionTime.at.value_or(WallTime{});
  task.exclusive = exclusive_cpus(pod.spec);
  task.device_claims = device_claims_of(pod);
  add_devices(pod.spec.initContainers, true, task.devices);
  add_devices(pod.spec.containers, false, task.devices);
  fill_task_annotations(pod, task);
  task.preempts = pod.spec.preemptionPolicy != "Never";
  task.index = -1;
  std::size_t dash = meta.name.rfind('-');
  if (dash != std::string::npos && dash + 1 < meta.name.size()) {
    std::int64_t index = 0;
    const char* end = meta.name.data() + meta.name.size();
    auto [stop, error] = std::from_chars(meta.name.data() + dash + 1, end, index);
    if (error == std::errc() && stop == end) task.index = index;
  }
}

const std::string& role_of(const model::Pod& pod) {
  const std::string& role = pod.metadata.annotation(model::keys::task_spec);
  return role.empty() ? pod.metadata.label(model::keys::task_spec) : role;
}

NodeShape make_shape(const model::Node& node, Names& names, Dimensions& dimensions,
                     std::vector<std::string>* refused) {
  NodeShape shape;
  shape.unschedulable = node.spec.unschedulable;
  for (const auto& [key, value] : node.metadata.labels)
    shape.labels.emplace_back(names.intern(key), names.intern(value));
  std::sort(shape.labels.begin(), shape.labels.end());
  for (const model::Taint& taint : node.spec.taints)
    shape.taints.push_back(
        {names.intern(taint.key), names.intern(taint.value), effect_of(taint.effect)});
  for (const json::Value& image : node.status.images) {
    const json::Array* tags = json::array_at(image, {"names"});
    if (tags == nullptr) continue;
    std::int64_t size = json::int_at(image, {"sizeBytes"});
    for (const json::Value& tag : *tags)
      if (tag.is_string()) shape.images.push_back({names.intern(json::sv(tag.get_string())), size});
  }
  for (const char* name : kNodeAnnotations)
    if (const std::string& value = node.metadata.annotation(name); !value.empty())
      shape.annotations.emplace_back(name, value);
  // It changes all the time; only whether the device plugin is gone matters.
  if (node.metadata.annotation(kHandshake).find("Deleted") != std::string::npos)
    shape.annotations.emplace_back(kHandshake, "Deleted");
  shape.allocatable = dimensions.convert(
      node.status.allocatable.empty() ? node.status.capacity : node.status.allocatable, refused);
  shape.capacity = dimensions.convert(node.status.capacity);
  return shape;
}

Phase phase_of(const std::string& text) {
  for (Phase phase :
       {Phase::pending, Phase::running, Phase::unknown, Phase::inqueue, Phase::completed})
    if (name_of(phase) == text) return phase;
  return Phase::none;
}

std::vector<GroupCondition> conditions_of(const model::PodGroup& group) {
  std::vector<GroupCondition> out;
  for (const model::PodGroupCondition& c : group.status.conditions)
    out.push_back({c.type, c.status, c.reason, c.message, c.transitionID,
                   c.lastTransitionTime.at.value_or(WallTime{})});
  return out;
}

namespace {

std::vector<std::string> group_names(const json::Value& affinity, std::string_view kind,
                                     std::string_view when) {
  std::vector<std::string> out;
  if (const json::Array* names = json::array_at(affinity, {kind, when}))
    for (const json::Value& name : *names)
      if (name.is_string()) out.emplace_back(json::sv(name.get_string()));
  return out;
}

void fill_node_groups(const model::Queue& queue, Dimensions& dimensions, Queue& out) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const json::Value& affinity = queue.spec.affinity;
  out.node_groups = {group_names(affinity, "nodeGroupAffinity", kRequired),
                     group_names(affinity, "nodeGroupAffinity", kPreferred),
                     group_names(affinity, "nodeGroupAntiAffinity", kRequired),
                     group_names(affinity, "nodeGroupAntiAffinity", kPreferred)};
  out.node_group_limits.clear();
  const std::string& text = queue.metadata.annotation("volcano.sh/nodegroup-resource-limits");
  if (text.empty()) return;
  Result<std::map<std::string, model::ResourceList>> limits =
      json::decode_text<std::map<std::string, model::ResourceList>>(text);
  if (!limits) return;
  for (const auto& [group, list] : *limits)
    out.node_group_limits.emplace_back(group, dimensions.convert(list));
}

}  // namespace

void fill_queue(const model::Queue& queue, Dimensions& dimensions, Queue& out) {
  out.uid = queue.metadata.uid;
  out.open = queue.status.state.empty() || queue.status.state == "Open";
  out.weight = std::max(queue.spec.weight, 1);
  out.priority = queue.spec.priority;
  out.reclaimable = queue.spec.reclaimable.value_or(true);
  out.created = queue.metadata.creationTimestamp.at.value_or(WallTime{});
  out.parent = queue.spec.parent;
  out.hierarchy = queue.metadata.annotation("volcano.sh/hierarchy");
  out.hierarchy_weights = queue.metadata.annotation("volcano.sh/hierarchy-weights");
  out.has_capability = !queue.spec.capability.empty();
  out.capability = dimensions.convert(queue.spec.capability);
  out.deserved = dimensions.convert(queue.spec.deserved);
  out.guarantee = dimensions.convert(queue.spec.guarantee.resource);
  fill_node_groups(queue, dimensions, out);
}

}  // namespace hekla::scheduler
