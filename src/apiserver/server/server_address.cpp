#include "apiserver/server/server_address.h"

#include <algorithm>
#include <array>

#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/write/managed_fields.h"

namespace hekla::apiserver {

namespace {

const std::array<kube::Resource, 3>& kinds() {
  static const std::array<kube::Resource, 3> all{
      {{"", "v1", "services", "Service"},
       {"", "v1", "endpoints", "Endpoints"},
       {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"}}};
  return all;
}

json::Value kubernetes_service(const BootstrapOptions& options) {
  json::Object port{{"name", "https"},
                    {"protocol", "TCP"},
                    {"port", 443},
                    {"targetPort", options.advertise_port}};
  json::Object labels{{"component", "apiserver"}, {"provider", "kubernetes"}};
  json::Object metadata{
      {"name", "kubernetes"}, {"namespace", "default"}, {"labels", std::move(labels)}};
  json::Object spec{{"clusterIP", options.service_address},
                    {"ports", json::Array{json::Value(std::move(port))}},
                    {"sessionAffinity", "None"},
                    {"type", "ClusterIP"}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Service"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)}};
}

// An endpoint must not be a loopback address: a server that listens there alone has none.
bool has_endpoint(const BootstrapOptions& options) {
  return !options.advertise_address.starts_with("127.") && options.advertise_address != "::1";
}

json::Value kubernetes_endpoints(const BootstrapOptions& options) {
  json::Object subset{
      {"addresses", json::Array{json::Value(json::Object{{"ip", options.advertise_address}})}},
      {"ports", json::Array{json::Value(json::Object{
                    {"name", "https"}, {"port", options.advertise_port}, {"protocol", "TCP"}})}}};
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Endpoints"},
      {"metadata",
       json::Object{{"name", "kubernetes"},
                    {"namespace", "default"},
                    {"labels", json::Object{{"endpointslice.kubernetes.io/skip-mirror", "true"}}}}},
      {"subsets", json::Array{json::Value(std::move(subset))}}};
}

json::Value kubernetes_slice(const BootstrapOptions& options) {
  const bool wide = options.advertise_address.find(':') != std::string::npos;
  return json::Object{
      {"apiVersion", "discovery.k8s.io/v1"},
      {"kind", "EndpointSlice"},
      {"metadata",
       json::Object{{"name", "kubernetes"},
                    {"namespace", "default"},
                    {"labels", json::Object{{"kubernetes.io/service-name", "kubernetes"}}}}},
      {"addressType", wide ? "IPv6" : "IPv4"},
      {"endpoints",
       json::Array{json::Object{{"addresses", json::Array{json::Value(options.advertise_address)}},
                                {"conditions", json::Object{{"ready", true}}}}}},
      {"ports", json::Array{json::Object{
                    {"name", "https"}, {"port", options.advertise_port}, {"protocol", "TCP"}}}}};
}

// Whether all that is wanted is there; what has been added by defaults does not matter.
bool holds(const json::Value& stored, const json::Value& wanted) {
  if (wanted.is_object())
    return stored.is_object() && std::ranges::all_of(wanted.get_object(), [&](const auto& member) {
             const json::Value* found = json::find(stored, member.key());
             return found && holds(*found, member.value());
           });
  if (wanted.is_array())
    return stored.is_array() && std::ranges::equal(stored.get_array(), wanted.get_array(), holds);
  return json::equal(stored, wanted);
}

std::vector<WriteRequest> look(const BootstrapOptions& options, const Catalog& catalog,
                               const store::Snapshot& snapshot) {
  std::vector<WriteRequest> requests;
  for (json::Value& object : server_address_objects(options)) {
    const auto kind =
        std::ranges::find(kinds(), json::string_at(object, {"kind"}), &kube::Resource::kind);
    const ServedPtr served = catalog.find(*kind);
    WriteRequest request = own_write(served, "kubernetes");
    request.key.ns = "default";
    if (const store::ItemPtr item =
            snapshot.get(served->bucket, storage_key(*served->kind, request.key))) {
      const json::Value stored = decode_object(*served, *item);
      json::Value wanted = with_server_address(stored, object);
      if (holds(stored, wanted)) continue;
      request.verb = WriteRequest::Verb::update;
      object = std::move(wanted);
    }
    request.body = std::move(object);
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace

std::vector<json::Value> server_address_objects(const BootstrapOptions& options) {
  std::vector<json::Value> objects{kubernetes_service(options)};
  if (!has_endpoint(options)) return objects;
  objects.push_back(kubernetes_endpoints(options));
  objects.push_back(kubernetes_slice(options));
  return objects;
}

bool tells_of_the_server(const kube::Resource& resource, const kube::Key& key) {
  return key.ns == "default" && key.name == "kubernetes" &&
         std::ranges::find(kinds(), resource.plural, &kube::Resource::plural) != kinds().end();
}

json::Value with_server_address(const json::Value& stored, const json::Value& now) {
  json::Value object = stored;
  for (std::string_view member : {"subsets", "endpoints", "ports"})
    if (const json::Value* wanted = json::find(now, member)) object.get_object()[member] = *wanted;
  if (const json::Value* ports = json::find_path(now, {"spec", "ports"}))
    json::at_path(object, {"spec", "ports"}) = *ports;
  return object;
}

ReconcileRule server_address_rule(const BootstrapOptions& options) {
  return {{kinds().begin(), kinds().end()},
          std::string(kBootstrapManager),
          [options](const Catalog& catalog, const store::Snapshot& snapshot, WallTime) {
            return look(options, catalog, snapshot);
          }};
}

}  // namespace hekla::apiserver
