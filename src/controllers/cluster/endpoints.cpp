#include "controllers/cluster/endpoints.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "controllers/vocabulary.h"
#include "kube/reconcile.h"
#include "model/selector.h"

namespace hekla::controllers {
namespace {

constexpr std::size_t kSliceLimit = 100, kAddressLimit = 1000;
constexpr const char* kOverCapacity = "endpoints.kubernetes.io/over-capacity";
constexpr std::string_view kServiceLabel = "kubernetes.io/service-name";
constexpr std::string_view kManagedBy = "endpointslice.kubernetes.io/managed-by";
constexpr std::string_view kManager = "endpointslice-controller.k8s.io";
constexpr std::string_view kMirror = "endpointslicemirroring-controller.k8s.io";

bool has_address(const model::Pod& pod) { return !pod.status.podIP.empty() && !pod_finished(pod); }

// Nothing when the pod has no port of that name.
std::optional<std::int64_t> target_port(const model::ServicePort& port, const model::Pod& pod) {
  if (port.targetPort.is_number()) return port.targetPort.to_number<std::int64_t>();
  if (!port.targetPort.is_string()) return port.port;
  for (const auto& container : pod.spec.containers)
    for (const auto& named : container.ports)
      if (named.name == json::sv(port.targetPort.get_string())) return named.containerPort;
  return std::nullopt;
}

json::Object target_reference(const model::Pod& pod) {
  return json::Object{{"kind", "Pod"},
                      {"namespace", pod.metadata.ns},
                      {"name", pod.metadata.name},
                      {"uid", pod.metadata.uid}};
}

// The name a headless service gives the pod, if pod and service agree on the subdomain.
std::string host_name(const model::Service& service, const model::Pod& pod) {
  return pod.spec.subdomain == service.metadata.name ? pod.spec.hostname : std::string();
}

json::Array ports_of(const model::Service& service, const model::Pod& pod, bool always_name) {
  json::Array ports;
  for (const model::ServicePort& port : service.spec.ports) {
    std::optional<std::int64_t> number = target_port(port, pod);
    if (!number) continue;
    json::Object made;
    if (always_name || !port.name.empty()) made["name"] = port.name;
    made["port"] = *number;
    made["protocol"] = port.protocol.empty() ? "TCP" : port.protocol;
    ports.push_back(std::move(made));
  }
  return ports;
}

// Pods that give a service's named ports different numbers are told apart.
struct PortGroup {
  json::Array ports;
  PodRefs pods;
};
std::vector<PortGroup> by_ports(const model::Service& service, const PodRefs& pods,
                                bool always_name) {
  std::vector<PortGroup> groups;
  for (const auto& pod : pods) {
    if (!has_address(*pod)) continue;
    json::Array ports = ports_of(service, *pod, always_name);
    auto same = std::find_if(groups.begin(), groups.end(), [&](const PortGroup& group) {
      return json::equal(json::Value(group.ports), json::Value(ports));
    });
    if (same == groups.end()) same = groups.insert(groups.end(), {std::move(ports), {}});
    same->pods.push_back(pod);
  }
  return groups;
}

struct Slice {
  model::ObjectMeta metadata;
  json::Value endpoints, ports;
};
BOOST_DESCRIBE_STRUCT(Slice, (), (metadata, endpoints, ports))
struct EndpointsObject {
  model::ObjectMeta metadata;
  json::Value subsets;
};
BOOST_DESCRIBE_STRUCT(EndpointsObject, (), (metadata, subsets))

}  // namespace

json::Array endpoint_subsets(const model::Service& service, const PodRefs& pods) {
  json::Array subsets;
  for (PortGroup& group : by_ports(service, pods, false)) {
    // Without a port only a headless service leads anywhere.
    if (group.ports.empty() && (!service.spec.ports.empty() || service.spec.clusterIP != "None"))
      continue;
    json::Array ready, not_ready;
    for (const auto& pod : group.pods) {
      if (pod->metadata.deletionTimestamp) continue;
      json::Object address{{"ip", pod->status.podIP}};
      if (std::string name = host_name(service, *pod); !name.empty()) address["hostname"] = name;
      if (!pod->spec.nodeName.empty()) address["nodeName"] = pod->spec.nodeName;
      address["targetRef"] = target_reference(*pod);
      bool counts = pod_ready(*pod) || service.spec.publishNotReadyAddresses;
      (counts ? ready : not_ready).push_back(std::move(address));
    }
    if (ready.empty() && not_ready.empty()) continue;
    json::Object subset;
    if (!ready.empty()) subset["addresses"] = std::move(ready);
    if (!not_ready.empty()) subset["notReadyAddresses"] = std::move(not_ready);
    if (!group.ports.empty()) subset["ports"] = std::move(group.ports);
    subsets.push_back(std::move(subset));
  }
  return subsets;
}

bool truncate_subsets(json::Array& subsets) {
  std::size_t room = kAddressLimit;
  bool cut = false;
  for (std::string_view list : {"addresses", "notReadyAddresses"})
    for (json::Value& subset : subsets) {
      json::Object& members = subset.get_object();
      auto found = members.find(list);
      if (found == members.end()) continue;
      json::Array& addresses = found->value().get_array();
      cut |= addresses.size() > room;
      if (addresses.size() > room) addresses.resize(room);
      room -= addresses.size();
      if (addresses.empty()) members.erase(found);
    }
  return cut;
}

std::vector<SliceContent> slice_contents(const model::Service& service, const PodRefs& pods) {
  std::vector<SliceContent> slices;
  for (PortGroup& group : by_ports(service, pods, true)) {
    for (const auto& pod : group.pods) {
      if (slices.empty() || slices.back().endpoints.size() >= kSliceLimit ||
          !json::equal(json::Value(slices.back().ports), json::Value(group.ports)))
        slices.push_back({{}, group.ports});
      bool terminating = static_cast<bool>(pod->metadata.deletionTimestamp);
      bool serving = pod_ready(*pod);
      bool ready = (serving && !terminating) || service.spec.publishNotReadyAddresses;
      json::Object endpoint{
          {"addresses", json::Array{json::Value(pod->status.podIP)}},
          {"conditions",
           json::Object{{"ready", ready}, {"serving", serving}, {"terminating", terminating}}}};
      if (std::string name = host_name(service, *pod); !name.empty()) endpoint["hostname"] = name;
      if (!pod->spec.nodeName.empty()) endpoint["nodeName"] = pod->spec.nodeName;
      endpoint["targetRef"] = target_reference(*pod);
      slices.back().endpoints.push_back(std::move(endpoint));
    }
  }
  return slices;
}

namespace {

std::string endpoint_key(const json::Value& endpoint) {
  if (std::string_view uid = json::string_at(endpoint, {"targetRef", "uid"}); !uid.empty())
    return std::string(uid);
  const json::Array* addresses = json::array_at(endpoint, {"addresses"});
  return (addresses ? json::serialize(json::Value(*addresses)) : std::string()) + " " +
         std::string(json::string_at(endpoint, {"hostname"}));
}

}  // namespace

std::vector<json::Array> spread_endpoints(const std::vector<const json::Array*>& slices,
                                          json::Array wanted) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < wanted.size(); ++i) places.emplace(endpoint_key(wanted[i]), i);
  std::vector<bool> placed(wanted.size(), false);
  std::vector<json::Array> out(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i)
    for (const json::Value& endpoint : *slices[i]) {
      auto place = places.find(endpoint_key(endpoint));
      if (place == places.end() || placed[place->second] || out[i].size() == kSliceLimit) continue;
      placed[place->second] = true;
      out[i].push_back(std::move(wanted[place->second]));
    }
  json::Array homeless;
  const std::size_t needed = (wanted.size() + kSliceLimit - 1) / kSliceLimit;
  auto used = [&] {
    return std::ranges::count_if(out, [](const auto& one) { return !one.empty(); });
  };
  for (auto left = static_cast<std::size_t>(used()); left > needed; --left) {
    auto smallest = std::ranges::min_element(
        out, {}, [](const json::Array& one) { return one.empty() ? kSliceLimit + 1 : one.size(); });
    for (json::Value& endpoint : *smallest) homeless.push_back(std::move(endpoint));
    smallest->clear();
  }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!placed[i]) homeless.push_back(std::move(wanted[i]));
  // Slices in use first, then those that have become empty, then new ones.
  std::vector<std::size_t> order(out.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_partition(order, [&](std::size_t i) { return !out[i].empty(); });
  std::size_t at = 0;
  for (json::Value& endpoint : homeless) {
    while (at < order.size() && out[order[at]].size() >= kSliceLimit) ++at;
    if (at == order.size()) {
      order.push_back(out.size());
      out.emplace_back();
    }
    out[order[at]].push_back(std::move(endpoint));
  }
  if (out.empty()) out.emplace_back();
  return out;
}

std::vector<SliceContent> mirrored_contents(const json::Value& subsets) {
  std::vector<SliceContent> slices;
  if (!subsets.is_array()) return slices;
  for (const json::Value& subset : subsets.get_array()) {
    const json::Array* given = json::array_at(subset, {"ports"});
    json::Array ports;
    if (given)
      for (json::Value port : *given) {
        if (port.is_object() && !port.get_object().contains("name")) port.get_object()["name"] = "";
        ports.push_back(std::move(port));
      }
    slices.push_back({{}, ports});
    for (std::string_view list : {"addresses", "notReadyAddresses"}) {
      const json::Array* addresses = json::array_at(subset, {list});
      if (!addresses) continue;
      for (const json::Value& address : *addresses) {
        if (slices.back().endpoints.size() >= kSliceLimit) slices.push_back({{}, ports});
        json::Object endpoint{
            {"addresses", json::Array{json::Value(json::string_at(address, {"ip"}))}},
            {"conditions", json::Object{{"ready", list == "addresses"}}}};
        for (std::string_view member : {"hostname", "nodeName", "targetRef"})
          if (const json::Value* value = json::find(address, member)) endpoint[member] = *value;
        slices.back().endpoints.push_back(std::move(endpoint));
      }
    }
  }
  return slices;
}

struct Endpoints::State {
  kube::Informer<model::Service>& services;
  kube::Informer<model::Pod>& pods;
  kube::Informer<EndpointsObject>& endpoints;
  kube::Informer<Slice>& slices;
  int slices_by_service;
  kube::ReconcileLoop loop;

  explicit State(kube::CacheSet& caches)
      : services(caches.of<model::Service>(kube::resources::services)),
        pods(caches.of<model::Pod>(kube::resources::pods)),
        endpoints(caches.of<EndpointsObject>(kube::resources::endpoints)),
        slices(caches.of<Slice>(kube::resources::endpoint_slices)),
        slices_by_service(slices.add_index([](const Slice& slice, auto& keys) {
          keys.push_back(slice.metadata.ns + "/" +
                         slice.metadata.label(std::string(kServiceLabel)));
        })),
        loop(caches, {.name = "endpoints"},
             [this](const kube::Key& key, WallTime) { return reconcile(key); }) {
    services.on_change([this](const auto& before, const auto& after) {
      const auto& service = after ? after : before;
      loop.add({service->metadata.ns, service->metadata.name});
    });
    pods.on_change([this](const auto& before, const auto& after) { pod_changed(before, after); });
    endpoints.on_change([this](const auto& before, const auto& after) {
      // Written by hand, or taken away; those without a service are nobody's business.
      kube::Key key = key_of((after ? after : before)->metadata);
      if (services.get(key)) loop.add(key);
    });
    slices.on_change([this](const auto& before, const auto& after) {
      const model::ObjectMeta& slice = (after ? after : before)->metadata;
      kube::Key key{slice.ns, slice.label(std::string(kServiceLabel))};
      if (services.get(key)) loop.add(key);
    });
    caches.on_synced([this] { loop.enable(); });
  }

  // Only what an endpoint shows matters; most status updates do not.
  void pod_changed(const std::shared_ptr<const model::Pod>& before,
                   const std::shared_ptr<const model::Pod>& after) {
    if (before && after && before->status.podIP == after->status.podIP &&
        pod_ready(*before) == pod_ready(*after) && pod_finished(*before) == pod_finished(*after) &&
        before->metadata.deletionTimestamp == after->metadata.deletionTimestamp &&
        before->metadata.labels == after->metadata.labels)
      return;
    const auto& pod = after ? after : before;
    for (const auto& service : services.in_namespace(pod->metadata.ns))
      if (!service->spec.selector.empty()) {
        model::Selector selector = model::Selector::of(service->spec.selector);
        if ((before && selector.matches(before->metadata.labels)) ||
            (after && selector.matches(after->metadata.labels)))
          loop.add({service->metadata.ns, service->metadata.name});
      }
  }

  kube::Round reconcile(const kube::Key& key) {
    kube::Round round;
    auto service = services.get(key);
    if (!service) {
      if (auto old = endpoints.get(key))
        round.writes.push_back(remove(kube::resources::endpoints, key, old->metadata.uid));
      return round;  // slices are owned by the service
    }
    if (service->metadata.deletionTimestamp || service->spec.type == "ExternalName") return round;
    if (service->spec.selector.empty()) return mirror(*service);
    PodRefs selected;
    model::Selector selector = model::Selector::of(service->spec.selector);
    for (auto& pod : pods.in_namespace(key.ns))
      if (selector.matches(pod->metadata.labels)) selected.push_back(std::move(pod));
    write_endpoints(*service, selected, round);
    write_slices(*service, selected, round);
    return round;
  }

  void write_endpoints(const model::Service& service, const PodRefs& selected, kube::Round& round) {
    json::Array subsets = endpoint_subsets(service, selected);
    const bool cut = truncate_subsets(subsets);
    auto note = [&](json::Value value) {
      return json::Object{{"annotations", json::Object{{kOverCapacity, std::move(value)}}}};
    };
    kube::Key key{service.metadata.ns, service.metadata.name};
    auto old = endpoints.get(key);
    if (old) {
      const bool noted = !old->metadata.annotation(kOverCapacity).empty();
      if (noted == cut &&
          json::equal(old->subsets.is_null() ? json::Value(json::Array{}) : old->subsets, subsets))
        return;
      json::Object body{
          {"subsets", subsets.empty() ? json::Value(nullptr) : json::Value(std::move(subsets))}};
      if (noted != cut)
        body["metadata"] = note(cut ? json::Value("truncated") : json::Value(nullptr));
      round.writes.push_back(merge_patch(kube::resources::endpoints, key, std::move(body)));
      return;
    }
    json::Object body{
        {"apiVersion", "v1"},
        {"kind", "Endpoints"},
        {"metadata",
         json::Object{{"name", key.name}, {"namespace", key.ns}, {"labels", labels_of(service)}}}};
    if (!subsets.empty()) body["subsets"] = std::move(subsets);
    if (cut) json::at_path(body["metadata"], {"annotations", kOverCapacity}) = "truncated";
    round.writes.push_back(create(kube::resources::endpoints, key.ns, std::move(body)));
  }

  static json::Object labels_of(const model::Service& service) {
    json::Object labels;
    for (const auto& [label, value] : service.metadata.labels) labels[label] = value;
    if (service.spec.clusterIP == "None") labels["service.kubernetes.io/headless"] = "";
    return labels;
  }

  // There is always at least one, be it empty.
  void write_slices(const model::Service& service, const PodRefs& selected, kube::Round& round) {
    std::vector<SliceContent> wanted = slice_contents(service, selected);
    if (wanted.empty()) wanted.emplace_back();
    json::Object labels = labels_of(service);
    labels[kServiceLabel] = service.metadata.name;
    labels[kManagedBy] = kManager;
    write_slices(service.metadata, std::move(wanted), labels,
                 json::encode(model::controller_reference("v1", "Service", service.metadata)),
                 round);
  }

  // Whoever writes Endpoints by hand finds them as slices too.
  kube::Round mirror(const model::Service& service) {
    kube::Round round;
    auto written = endpoints.get({service.metadata.ns, service.metadata.name});
    if (!written || written->metadata.label("endpointslice.kubernetes.io/skip-mirror") == "true")
      return round;
    json::Object labels;
    for (const auto& [label, value] : written->metadata.labels) labels[label] = value;
    labels[kServiceLabel] = service.metadata.name;
    labels[kManagedBy] = kMirror;
    write_slices(service.metadata, mirrored_contents(written->subsets), labels,
                 json::encode(model::controller_reference("v1", "Endpoints", written->metadata)),
                 round);
    return round;
  }

  void write_slices(const model::ObjectMeta& service, std::vector<SliceContent> wanted,
                    const json::Object& labels, const json::Value& owner, kube::Round& round) {
    auto old = slices.by(slices_by_service, service.ns + "/" + service.name);
    std::erase_if(old, [&](const auto& one) {
      return one->metadata.label(std::string(kManagedBy)) !=
             json::sv(labels.at(kManagedBy).get_string());
    });
    auto list = [](const json::Value& value) {
      return value.is_null() ? json::Value(json::Array{}) : value;
    };
    std::vector<SliceContent> added;
    for (SliceContent& group : grouped(std::move(wanted))) {
      auto rest = std::stable_partition(old.begin(), old.end(), [&](const auto& slice) {
        return !json::equal(list(slice->ports), json::Value(group.ports));
      });
      std::vector<std::shared_ptr<const Slice>> own(rest, old.end());
      old.erase(rest, old.end());
      static const json::Array kNone;
      std::vector<const json::Array*> before;
      for (const auto& slice : own)
        before.push_back(slice->endpoints.is_array() ? &slice->endpoints.get_array() : &kNone);
      const bool empty = group.endpoints.empty();
      std::vector<json::Array> after = spread_endpoints(before, std::move(group.endpoints));
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (i >= own.size())
          added.push_back({std::move(after[i]), group.ports});
        else if (after[i].empty() && !(empty && i == 0))
          old.push_back(own[i]);
        else if (!json::equal(json::Value(*before[i]), json::Value(after[i])))
          round.writes.push_back(merge_patch(kube::resources::endpoint_slices,
                                             key_of(own[i]->metadata),
                                             json::Object{{"endpoints", std::move(after[i])}}));
      }
    }
    for (SliceContent& one : added) {
      if (old.empty()) {
        round.writes.push_back(create(kube::resources::endpoint_slices, service.ns,
                                      new_slice(service, std::move(one), labels, owner)));
        continue;
      }
      round.writes.push_back(merge_patch(
          kube::resources::endpoint_slices, key_of(old.front()->metadata),
          json::Object{{"endpoints", std::move(one.endpoints)}, {"ports", std::move(one.ports)}}));
      old.erase(old.begin());
    }
    for (const auto& surplus : old)
      round.writes.push_back(remove(kube::resources::endpoint_slices, key_of(surplus->metadata),
                                    surplus->metadata.uid));
  }

  // One for all endpoints with the same ports, however many.
  static std::vector<SliceContent> grouped(std::vector<SliceContent> slices) {
    std::vector<SliceContent> groups;
    for (SliceContent& one : slices) {
      auto same = std::ranges::find_if(groups, [&](const SliceContent& group) {
        return json::equal(json::Value(group.ports), json::Value(one.ports));
      });
      if (same == groups.end()) {
        groups.push_back(std::move(one));
        continue;
      }
      for (json::Value& endpoint : one.endpoints) same->endpoints.push_back(std::move(endpoint));
    }
    return groups;
  }

  static json::Value new_slice(const model::ObjectMeta& service, SliceContent content,
                               const json::Object& labels, const json::Value& owner) {
    return json::Object{{"apiVersion", "discovery.k8s.io/v1"},
                        {"kind", "EndpointSlice"},
                        {"metadata", json::Object{{"generateName", service.name + "-"},
                                                  {"namespace", service.ns},
                                                  {"labels", labels},
                                                  {"ownerReferences", json::Array{owner}}}},
                        {"addressType", "IPv4"},
                        {"endpoints", std::move(content.endpoints)},
                        {"ports", std::move(content.ports)}};
  }
};

Endpoints::Endpoints(kube::CacheSet& caches) : state_(std::make_unique<State>(caches)) {}

Endpoints::~Endpoints() = default;

}  // namespace hekla::controllers
