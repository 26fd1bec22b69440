#include "agent/network/service_routing.h"

#include "base/log.h"

namespace hekla::agent {

ServiceRouting::ServiceRouting(kube::Client& client, const kube::Informer<model::Service>& services,
                               Options options)
    : client_(client),
      services_(services),
      options_(std::move(options)),
      endpoints_(client, kube::resources::endpoints) {}

void ServiceRouting::start() {
  endpoints_.on_change([this](const auto&, const auto&) { changed(); });
  endpoints_.on_settled([this] { changed(); });
  endpoints_.start();
}

// Many changes in one turn of the loop, or while rules are being set, are one new set of rules.
void ServiceRouting::changed() {
  if (in_flight_ || std::exchange(pending_, true)) return;
  client_.executor().post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) publish();
  });
}

void ServiceRouting::publish() {
  pending_ = false;
  if (!endpoints_.synced() || !services_.synced()) return;
  std::vector<ServiceRoute> routes;
  services_.for_each([&](const auto& service) {
    const kube::Key key{service->metadata.ns, service->metadata.name};
    std::vector<ServiceRoute> own = routes_of(*service, endpoints_.get(key).get());
    if (key.ns == "default" && key.name == "kubernetes")
      for (ServiceRoute& route : own) route.targets = {options_.api_target};
    routes.insert(routes.end(), own.begin(), own.end());
  });
  std::string rules = service_rules(std::move(routes), options_.service_cidr);
  if (rules == in_force_) return;
  in_flight_ = true;
  options_.set_rules(
      rules, [this, rules, alive = std::weak_ptr<bool>(alive_)](const Result<void>& set) {
        if (!alive.lock()) return;
        in_flight_ = false;
        if (set) {
          in_force_ = rules;
          failing_ = false;
          return changed();  // what came in between
        }
        if (!std::exchange(failing_, true))
          log_error("agent", "cluster IPs of services do not work",
                    {{"error", set.error().message}});
      });
}

}  // namespace hekla::agent
