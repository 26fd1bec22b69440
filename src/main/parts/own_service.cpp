#include "main/parts/own_service.h"

#include "framework/writes.h"

namespace hekla {

std::vector<kube::Write> own_service(const std::string& ns, const std::string& name,
                                     const std::vector<OwnPort>& ports,
                                     const std::string& address) {
  json::Array of_service, of_endpoints;
  for (const OwnPort& port : ports) {
    of_service.push_back(json::Object{{"name", port.name},
                                      {"port", std::int64_t{port.port}},
                                      {"targetPort", std::int64_t{port.target}},
                                      {"protocol", "TCP"}});
    of_endpoints.push_back(json::Object{
        {"name", port.name}, {"port", std::int64_t{port.target}}, {"protocol", "TCP"}});
  }
  json::Object service{{"metadata", json::Object{{"name", name}}},
                       {"spec", json::Object{{"ports", std::move(of_service)}}}};
  json::Object subset{{"addresses", json::Array{json::Object{{"ip", address}}}},
                      {"ports", std::move(of_endpoints)}};
  json::Object endpoints{{"apiVersion", "v1"},
                         {"kind", "Endpoints"},
                         {"metadata", json::Object{{"name", name}}},
                         {"subsets", json::Array{std::move(subset)}}};
  return {framework::create(kube::resources::services, ns, std::move(service)),
          framework::apply_patch(kube::resources::endpoints, ns, std::move(endpoints))};
}

}  // namespace hekla
