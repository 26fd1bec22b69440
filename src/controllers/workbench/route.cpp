#include "controllers/workbench/route.h"

namespace hekla::controllers::workbench {

using framework::Child;
using json::Array;
using json::Object;

Child route_to(const Route& route, const std::string& ns, const WorkbenchOptions& options) {
  Object destination{{"host", route.service + "." + ns + ".svc." + options.cluster_domain},
                     {"port", Object{{"number", 80}}}};
  Object http{{"match", Array{Object{{"uri", Object{{"prefix", route.prefix}}}}}},
              {"rewrite", Object{{"uri", route.rewrite}}},
              {"route", Array{Object{{"destination", std::move(destination)}}}}};
  if (route.headers) http["headers"] = Object{{"request", Object{{"set", *route.headers}}}};
  if (!route.timeout.empty()) http["timeout"] = route.timeout;
  return {.resource = virtual_services,
          .body = Object{{"metadata", Object{{"name", route.name}}},
                         {"spec", Object{{"hosts", Array{options.gateway_host}},
                                         {"gateways", Array{options.gateway}},
                                         {"http", Array{std::move(http)}}}}}};
}

Child service_to(const std::string& name, Object selector, json::Value target_port, Object labels) {
  Object metadata{{"name", name}};
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  Object port{{"name", "http-" + name},
              {"port", 80},
              {"targetPort", std::move(target_port)},
              {"protocol", "TCP"}};
  return {.resource = kube::resources::services,
          .body = Object{{"metadata", std::move(metadata)},
                         {"spec", Object{{"type", "ClusterIP"},
                                         {"selector", std::move(selector)},
                                         {"ports", Array{std::move(port)}}}}}};
}

framework::OwnedKind owned(const kube::Resource& resource, bool optional) {
  framework::OwnedKind kind{.resource = resource, .optional = optional};
  const framework::EventText failed{"Warning", "FailedCreate",
                                    "{kind} {name} could not be made: {error}"};
  kind.words.create_failed = failed;
  kind.words.change_failed = failed;
  return kind;
}

framework::OwnedKind pruned(const kube::Resource& resource, bool optional) {
  framework::OwnedKind kind = owned(resource, optional);
  kind.prune = true;
  return kind;
}

}  // namespace hekla::controllers::workbench
