#include "controllers/cluster/endpoints.h"

#include <algorithm>

#include "controllers/framework/writes.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "model/selector.h"

namespace hekla::controllers {
namespace {

constexpr std::size_t kSliceLimit = 100;
constexpr std::string_view kServiceLabel = "kubernetes.io/service-name";
constexpr std::string_view kManager = "endpointslice-controller.k8s.io";

bool is_ready(const model::Pod& pod) {
  return std::any_of(pod.status.conditions.begin(), pod.status.conditions.end(),
                     [](const auto& c) { return c.type == "Ready" && c.status == "True"; });
}

bool is_finished(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool has_address(const model::Pod& pod) { return !pod.status.podIP.empty() && !is_finished(pod); }

std::int64_t target_port(const model::ServicePort& port, const PodRefs& pods) {
  if (port.targetPort.is_number()) return port.targetPort.to_number<std::int64_t>();
  if (!port.targetPort.is_string()) return port.port;
  for (const auto& pod : pods)
    for (const auto& container : pod->spec.containers)
      for (const auto& named : container.ports)
        if (named.name == json::sv(port.targetPort.get_string())) return named.containerPort;
  return port.port;
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

json::Object ports_of(const model::ServicePort& port, const PodRefs& pods, bool always_name) {
  json::Object made;
  if (always_name || !port.name.empty()) made["name"] = port.name;
  made["port"] = target_port(port, pods);
  made["protocol"] = port.protocol.empty() ? "TCP" : port.protocol;
  return made;
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
  json::Array ready, not_ready;
  for (const auto& pod : pods) {
    if (!has_address(*pod) || pod->metadata.deletionTimestamp) continue;
    json::Object address{{"ip", pod->status.podIP}};
    if (std::string name = host_name(service, *pod); !name.empty()) address["hostname"] = name;
    if (!pod->spec.nodeName.empty()) address["nodeName"] = pod->spec.nodeName;
    address["targetRef"] = target_reference(*pod);
    bool counts = is_ready(*pod) || service.spec.publishNotReadyAddresses;
    (counts ? ready : not_ready).push_back(std::move(address));
  }
  if (ready.empty() && not_ready.empty()) return {};
  json::Object subset;
  if (!ready.empty()) subset["addresses"] = std::move(ready);
  if (!not_ready.empty()) subset["notReadyAddresses"] = std::move(not_ready);
  json::Array ports;
  for (const auto& port : service.spec.ports) ports.push_back(ports_of(port, pods, false));
  if (!ports.empty()) subset["ports"] = std::move(ports);
  return json::Array{std::move(subset)};
}

json::Array slice_endpoints(const model::Service& service, const PodRefs& pods) {
  json::Array endpoints;
  for (const auto& pod : pods) {
    if (!has_address(*pod)) continue;
    bool terminating = static_cast<bool>(pod->metadata.deletionTimestamp);
    bool serving = is_ready(*pod);
    bool ready = (serving && !terminating) || service.spec.publishNotReadyAddresses;
    json::Object endpoint{
        {"addresses", json::Array{json::Value(pod->status.podIP)}},
        {"conditions",
         json::Object{{"ready", ready}, {"serving", serving}, {"terminating", terminating}}}};
    if (std::string name = host_name(service, *pod); !name.empty()) endpoint["hostname"] = name;
    if (!pod->spec.nodeName.empty()) endpoint["nodeName"] = pod->spec.nodeName;
    endpoint["targetRef"] = target_reference(*pod);
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

json::Array slice_ports(const model::Service& service, const PodRefs& pods) {
  json::Array ports;
  for (const auto& port : service.spec.ports) ports.push_back(ports_of(port, pods, true));
  return ports;
}

struct Endpoints::State {
  kube::Client& client;
  kube::Informer<model::Service> services;
  kube::Informer<model::Pod> pods;
  kube::Informer<EndpointsObject> endpoints;
  kube::Informer<Slice> slices;
  int pods_by_namespace, slices_by_service, services_by_namespace;
  kube::ReconcileLoop loop;

  explicit State(kube::Client& c)
      : client(c),
        services(c, kube::resources::services),
        pods(c, kube::resources::pods),
        endpoints(c, kube::resources::endpoints),
        slices(c, kube::resources::endpoint_slices),
        pods_by_namespace(pods.add_index(
            [](const model::Pod& pod, auto& keys) { keys.push_back(pod.metadata.ns); })),
        slices_by_service(slices.add_index([](const Slice& slice, auto& keys) {
          keys.push_back(slice.metadata.ns + "/" +
                         slice.metadata.label(std::string(kServiceLabel)));
        })),
        services_by_namespace(services.add_index([](const model::Service& service, auto& keys) {
          keys.push_back(service.metadata.ns);
        })),
        loop(
            c, kube::ReconcileOptions{.name = "endpoints"},
            [this](const kube::Key& key, WallTime) { return reconcile(key); },
            [this](const kube::Write& write, const kube::ObjectPtr& result) {
              overlay(endpoints, write, result);
              overlay(slices, write, result);
            }) {}

  void start() {
    services.on_change([this](const auto& before, const auto& after) {
      const auto& service = after ? after : before;
      loop.add({service->metadata.ns, service->metadata.name});
    });
    pods.on_change([this](const auto& before, const auto& after) { pod_changed(before, after); });
    auto enable = [this] {
      if (services.synced() && pods.synced() && endpoints.synced() && slices.synced())
        loop.enable();
    };
    services.on_settled(enable);
    pods.on_settled(enable);
    endpoints.on_settled(enable);
    slices.on_settled(enable);
    services.start();
    pods.start();
    endpoints.start();
    slices.start();
  }

  // Only what an endpoint shows matters; most status updates do not.
  void pod_changed(const std::shared_ptr<const model::Pod>& before,
                   const std::shared_ptr<const model::Pod>& after) {
    if (before && after && before->status.podIP == after->status.podIP &&
        is_ready(*before) == is_ready(*after) && is_finished(*before) == is_finished(*after) &&
        before->metadata.deletionTimestamp == after->metadata.deletionTimestamp &&
        before->metadata.labels == after->metadata.labels)
      return;
    const auto& pod = after ? after : before;
    for (const auto& service : services.by(services_by_namespace, pod->metadata.ns))
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
    if (service->spec.selector.empty() || service->metadata.deletionTimestamp) return round;
    PodRefs selected;
    model::Selector selector = model::Selector::of(service->spec.selector);
    for (auto& pod : pods.by(pods_by_namespace, key.ns))
      if (selector.matches(pod->metadata.labels)) selected.push_back(std::move(pod));
    write_endpoints(*service, selected, round);
    write_slices(*service, selected, round);
    return round;
  }

  void write_endpoints(const model::Service& service, const PodRefs& selected, kube::Round& round) {
    json::Array subsets = endpoint_subsets(service, selected);
    kube::Key key{service.metadata.ns, service.metadata.name};
    auto old = endpoints.get(key);
    if (old) {
      if (json::equal(old->subsets.is_null() ? json::Value(json::Array{}) : old->subsets, subsets))
        return;
      json::Value value = subsets.empty() ? json::Value(nullptr) : json::Value(std::move(subsets));
      round.writes.push_back(merge_patch(kube::resources::endpoints, key,
                                         json::Object{{"subsets", std::move(value)}}));
      return;
    }
    json::Object body{
        {"apiVersion", "v1"},
        {"kind", "Endpoints"},
        {"metadata",
         json::Object{{"name", key.name}, {"namespace", key.ns}, {"labels", labels_of(service)}}}};
    if (!subsets.empty()) body["subsets"] = std::move(subsets);
    round.writes.push_back(create(kube::resources::endpoints, key.ns, std::move(body)));
  }

  static json::Object labels_of(const model::Service& service) {
    json::Object labels;
    for (const auto& [label, value] : service.metadata.labels) labels[label] = value;
    if (service.spec.clusterIP == "None") labels["service.kubernetes.io/headless"] = "";
    return labels;
  }

  // Slices are filled in order, a hundred endpoints each; there is always at least one.
  void write_slices(const model::Service& service, const PodRefs& selected, kube::Round& round) {
    json::Array all = slice_endpoints(service, selected);
    json::Array ports = slice_ports(service, selected);
    auto old = slices.by(slices_by_service, service.metadata.ns + "/" + service.metadata.name);
    std::size_t wanted = std::max<std::size_t>(1, (all.size() + kSliceLimit - 1) / kSliceLimit);
    for (std::size_t i = 0; i < std::max(wanted, old.size()); ++i) {
      if (i >= wanted) {
        round.writes.push_back(remove(kube::resources::endpoint_slices,
                                      {old[i]->metadata.ns, old[i]->metadata.name},
                                      old[i]->metadata.uid));
        continue;
      }
      json::Array part;
      for (std::size_t j = i * kSliceLimit; j < std::min(all.size(), (i + 1) * kSliceLimit); ++j)
        part.push_back(all[j]);
      if (i < old.size()) {
        if (json::equal(
                old[i]->endpoints.is_null() ? json::Value(json::Array{}) : old[i]->endpoints,
                part) &&
            json::equal(old[i]->ports.is_null() ? json::Value(json::Array{}) : old[i]->ports,
                        ports))
          continue;
        round.writes.push_back(merge_patch(
            kube::resources::endpoint_slices, {old[i]->metadata.ns, old[i]->metadata.name},
            json::Object{{"endpoints", std::move(part)}, {"ports", ports}}));
      } else {
        round.writes.push_back(create(kube::resources::endpoint_slices, service.metadata.ns,
                                      new_slice(service, std::move(part), ports)));
      }
    }
  }

  static json::Value new_slice(const model::Service& service, json::Array part,
                               const json::Array& ports) {
    json::Object labels = labels_of(service);
    labels[kServiceLabel] = service.metadata.name;
    labels["endpointslice.kubernetes.io/managed-by"] = kManager;
    json::Value owner =
        json::encode(model::controller_reference("v1", "Service", service.metadata));
    return json::Object{
        {"apiVersion", "discovery.k8s.io/v1"},
        {"kind", "EndpointSlice"},
        {"metadata", json::Object{{"generateName", service.metadata.name + "-"},
                                  {"namespace", service.metadata.ns},
                                  {"labels", std::move(labels)},
                                  {"ownerReferences", json::Array{std::move(owner)}}}},
        {"addressType", "IPv4"},
        {"endpoints", std::move(part)},
        {"ports", ports}};
  }
};

Endpoints::Endpoints(kube::Client& client) : state_(std::make_shared<State>(client)) {}

Endpoints::~Endpoints() = default;

void Endpoints::start() { state_->start(); }

}  // namespace hekla::controllers
