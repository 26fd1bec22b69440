#include "main/parts/own_service.h"

namespace hekla {

void add_own_service(StandingObjects& standing, const std::string& ns, const std::string& name,
                     const std::vector<OwnPort>& ports, const std::string& address) {
  json::Array of_service, of_endpoints;
  for (const OwnPort& port : ports) {
    of_service.push_back(json::Object{{"name", port.name},
                                      {"port", std::int64_t{port.port}},
                                      {"targetPort", std::int64_t{port.target}},
                                      {"protocol", "TCP"}});
    of_endpoints.push_back(json::Object{
        {"name", port.name}, {"port", std::int64_t{port.target}}, {"protocol", "TCP"}});
  }
  standing.add(kube::resources::services,
               {{"metadata", json::Object{{"name", name}, {"namespace", ns}}},
                {"spec", json::Object{{"ports", std::move(of_service)}}}});
  standing.add_endpoints(ns, name,
                         {json::Object{{"addresses", json::Array{json::Object{{"ip", address}}}},
                                       {"ports", std::move(of_endpoints)}}});
}

}  // namespace hekla
