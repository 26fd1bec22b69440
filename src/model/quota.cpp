#include "model/quota.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/selector.h"

namespace hekla::model {
namespace {

constexpr std::string_view kCount = "count/";
constexpr std::string_view kPerClass = ".storageclass.storage.k8s.io/";
constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";
// Kinds that may also be counted by their bare name.
constexpr std::string_view kBareNames[]{"configmaps", "secrets", "replicationcontrollers",
                                        "resourcequotas"};

void raise_limits(ResourceList& to, const ResourceList& other) {
  for (const auto& [name, quantity] : other) {
    auto [found, fresh] = to.try_emplace(name, quantity);
    if (!fresh) found->second = std::max(found->second, quantity);
  }
}

// Names without a domain are Kubernetes' own; everything else is an extended resource.
bool is_extended_resource(const std::string& name) {
  return name.find('/') != std::string::npos && name.find("kubernetes.io/") == std::string::npos;
}

void charge_compute(const ResourceList& requests, const ResourceList& limits, ResourceList& usage) {
  for (const auto& [name, quantity] : requests) {
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
        name.starts_with("hugepages-")) {
      usage[name] = quantity;
      usage["requests." + name] = quantity;
    } else if (is_extended_resource(name)) {
      usage["requests." + name] = quantity;
    }
  }
  for (const auto& [name, quantity] : limits)
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage")
      usage["limits." + name] = quantity;
}

void charge_pod(const json::Value& object, ResourceList& usage) {
  std::string_view phase = json::string_at(object, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return;
  usage["pods"] = Quantity::of(1);
  const json::Value* spec = json::find(object, "spec");
  if (!spec) return;
  Result<PodSpec> decoded = json::decode<PodSpec>(*spec);
  if (!decoded) return;
  charge_compute(pod_requests(*decoded), pod_limits(*decoded), usage);
}

void charge_service(const json::Value& object, ResourceList& usage) {
  usage["services"] = Quantity::of(1);
  std::string_view type = json::string_at(object, {"spec", "type"});
  const json::Array* ports = json::array_at(object, {"spec", "ports"});
  std::int64_t count = ports ? static_cast<std::int64_t>(ports->size()) : 0;
  if (type == "NodePort") usage["services.nodeports"] = Quantity::of(count);
  if (type != "LoadBalancer") return;
  usage["services.loadbalancers"] = Quantity::of(1);
  // A balancer that asks for no node ports may still be given some by name.
  if (!json::bool_at(object, {"spec", "allocateLoadBalancerNodePorts"}, true))
    count = ports ? std::count_if(ports->begin(), ports->end(),
                                  [](const json::Value& port) {
                                    return json::int_at(port, {"nodePort"}) != 0;
                                  })
                  : 0;
  usage["services.nodeports"] = Quantity::of(count);
}

std::string class_of(const json::Value& claim) {
  std::string_view old = json::string_at(claim, {"metadata", "annotations", kClassAnnotation});
  return std::string(old.empty() ? json::string_at(claim, {"spec", "storageClassName"}) : old);
}

void charge_claim(const json::Value& object, ResourceList& usage) {
  usage["persistentvolumeclaims"] = Quantity::of(1);
  ResourceList requests = resource_list_at(object, {"spec", "resources", "requests"});
  auto storage = requests.find("storage");
  if (storage != requests.end()) usage["requests.storage"] = storage->second;
  std::string storage_class = class_of(object);
  if (storage_class.empty()) return;
  storage_class += kPerClass;
  usage[storage_class + "persistentvolumeclaims"] = Quantity::of(1);
  if (storage != requests.end()) usage[storage_class + "requests.storage"] = storage->second;
}

bool is_best_effort(const json::Value& pod) {
  const json::Value* spec = json::find(pod, "spec");
  return spec == nullptr || qos_class(*spec) == "BestEffort";
}

bool names_other_namespaces(const json::Value& term) {
  const json::Array* named = json::array_at(term, {"namespaces"});
  return (named && !named->empty()) || json::object_at(term, {"namespaceSelector"});
}

bool has_cross_namespace_affinity(const json::Value& pod) {
  for (std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    if (const json::Array* terms = json::array_at(
            pod, {"spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"}))
      if (std::any_of(terms->begin(), terms->end(), names_other_namespaces)) return true;
    if (const json::Array* terms = json::array_at(
            pod, {"spec", "affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution"}))
      for (const json::Value& weighted : *terms)
        if (const json::Value* term = json::find(weighted, "podAffinityTerm");
            term && names_other_namespaces(*term))
          return true;
  }
  return false;
}

bool matches_priority(const json::Value& pod, std::string_view op, const json::Value* expression) {
  Selector selector;
  Selector::Requirement wanted{"PriorityClass", Selector::Op::exists, {}};
  if (op == "DoesNotExist") wanted.op = Selector::Op::absent;
  if (op == "In") wanted.op = Selector::Op::in;
  if (op == "NotIn") wanted.op = Selector::Op::not_in;
  if (const json::Array* values = expression ? json::array_at(*expression, {"values"}) : nullptr)
    for (const json::Value& value : *values)
      if (value.is_string()) wanted.values.emplace_back(json::sv(value.get_string()));
  selector.add(std::move(wanted));
  Labels labels;
  if (std::string_view name = json::string_at(pod, {"spec", "priorityClassName"}); !name.empty())
    labels["PriorityClass"] = name;
  return selector.matches(labels);
}

bool in_scope(const json::Value& pod, std::string_view scope, std::string_view op,
              const json::Value* expression) {
  const json::Value* deadline = json::find_path(pod, {"spec", "activeDeadlineSeconds"});
  const bool terminating = deadline && deadline->is_number();
  if (scope == "Terminating") return terminating;
  if (scope == "NotTerminating") return !terminating;
  if (scope == "BestEffort") return is_best_effort(pod);
  if (scope == "NotBestEffort") return !is_best_effort(pod);
  if (scope == "CrossNamespacePodAffinity") return has_cross_namespace_affinity(pod);
  if (scope == "PriorityClass") return matches_priority(pod, op, expression);
  return false;
}

}  // namespace

QuotaKind quota_kind_of(std::string_view name) {
  if (name.starts_with(kCount)) {
    std::string_view rest = name.substr(kCount.size());
    std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) return {"", std::string(rest)};
    return {std::string(rest.substr(dot + 1)), std::string(rest.substr(0, dot))};
  }
  if (name == "services" || name.starts_with("services.")) return {"", "services"};
  if (name == "persistentvolumeclaims" || name == "requests.storage" ||
      name.find(kPerClass) != std::string_view::npos)
    return {"", "persistentvolumeclaims"};
  if (std::ranges::find(kBareNames, name) != std::end(kBareNames)) return {"", std::string(name)};
  return {"", "pods"};
}

ResourceList quota_usage(const QuotaKind& kind, const json::Value& object) {
  ResourceList usage;
  usage[std::string(kCount) + kind.plural + (kind.group.empty() ? "" : "." + kind.group)] =
      Quantity::of(1);
  if (!kind.group.empty()) return usage;
  if (kind.plural == "pods") charge_pod(object, usage);
  if (kind.plural == "services") charge_service(object, usage);
  if (kind.plural == "persistentvolumeclaims") charge_claim(object, usage);
  if (std::ranges::find(kBareNames, kind.plural) != std::end(kBareNames))
    usage[kind.plural] = Quantity::of(1);
  return usage;
}

bool quota_selects(const json::Value& quota, const QuotaKind& kind, const json::Value& object) {
  const json::Array* scopes = json::array_at(quota, {"spec", "scopes"});
  const json::Array* expressions =
      json::array_at(quota, {"spec", "scopeSelector", "matchExpressions"});
  const bool scoped = (scopes && !scopes->empty()) || (expressions && !expressions->empty());
  if (!scoped) return true;
  if (kind != QuotaKind{"", "pods"}) return false;  // scopes speak of pods alone
  if (scopes)
    for (const json::Value& scope : *scopes)
      if (!scope.is_string() || !in_scope(object, json::sv(scope.get_string()), "Exists", nullptr))
        return false;
  if (expressions)
    for (const json::Value& one : *expressions)
      if (!in_scope(object, json::string_at(one, {"scopeName"}), json::string_at(one, {"operator"}),
                    &one))
        return false;
  return true;
}

std::optional<std::string> quota_unspecified(const std::vector<std::string>& charged,
                                             const json::Value& pod) {
  static const std::set<std::string> kNeeded{
      "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};
  std::map<std::string, std::set<std::string>> missing;
  ResourceList of_pod;
  if (const json::Value* spec = json::find(pod, "spec"))
    charge_compute(resource_list_at(*spec, {"resources", "requests"}),
                   resource_list_at(*spec, {"resources", "limits"}), of_pod);
  for (std::string_view list : {"containers", "initContainers"}) {
    const json::Array* containers = json::array_at(pod, {"spec", list});
    if (!containers) continue;
    for (const json::Value& container : *containers) {
      ResourceList stated;
      charge_compute(resource_list_at(container, {"resources", "requests"}),
                     resource_list_at(container, {"resources", "limits"}), stated);
      for (const std::string& name : charged)
        if (kNeeded.contains(name) && !stated.contains(name) && !of_pod.contains(name))
          missing[name].insert(std::string(json::string_at(container, {"name"})));
    }
  }
  if (missing.empty()) return std::nullopt;
  std::string text;
  for (const auto& [name, containers] : missing) {
    text += (text.empty() ? "" : "; ") + name + " for: ";
    bool first = true;
    for (const std::string& container : containers) {
      text += (first ? "" : ",") + container;
      first = false;
    }
  }
  return text;
}

std::string qos_class(const json::Value& pod_spec) {
  bool any = false, guaranteed = true;
  auto count = [&](const json::Value& owner) {
    const ResourceList requests = resource_list_at(owner, {"resources", "requests"});
    const ResourceList limits = resource_list_at(owner, {"resources", "limits"});
    for (const char* name : {"cpu", "memory"}) {
      auto request = requests.find(name), limit = limits.find(name);
      const bool asked = request != requests.end() && !request->second.is_zero();
      const bool limited = limit != limits.end() && !limit->second.is_zero();
      any = any || asked || limited;
      if (!limited || (asked && request->second != limit->second)) guaranteed = false;
    }
  };
  if (json::object_at(pod_spec, {"resources"})) {
    count(pod_spec);
  } else {
    for (std::string_view list : {"initContainers", "containers"})
      if (const json::Array* containers = json::array_at(pod_spec, {list}))
        for (const json::Value& container : *containers) count(container);
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

ResourceList pod_limits(const PodSpec& spec) {
  ResourceList limits, sidecars, init_peak;
  for (const Container& container : spec.containers) add(limits, container.resources.limits);
  for (const Container& container : spec.initContainers) {
    ResourceList running = sidecars;
    add(running, container.resources.limits);
    if (container.restartPolicy == "Always") {
      add(limits, container.resources.limits);
      sidecars = running;
    }
    raise_limits(init_peak, running);
  }
  raise_limits(limits, init_peak);
  for (const auto& [name, quantity] : spec.resources.limits) limits[name] = quantity;
  for (const auto& [name, quantity] : spec.overhead)
    if (auto found = limits.find(name); found != limits.end() && !found->second.is_zero())
      found->second += quantity;
  return limits;
}

ResourceList resource_list_at(const json::Value& object,
                              std::initializer_list<std::string_view> path) {
  ResourceList list;
  const json::Object* members = json::object_at(object, path);
  if (!members) return list;
  for (const auto& member : *members)
    if (Result<Quantity> quantity = Quantity::from_json(member.value()))
      list.emplace(std::string(member.key()), *quantity);
  return list;
}

std::string resource_list_text(const ResourceList& list) {
  std::string text;
  for (const auto& [name, quantity] : list)
    text += (text.empty() ? "" : ",") + name + "=" + quantity.text();
  return text;
}

}  // namespace hekla::model
