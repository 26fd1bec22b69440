// The way from the gateway to a child's Service, in the form upstream's controllers write it.
#pragma once

#include <string>

#include "controllers/workbench/workbench_kind.h"

namespace hekla::controllers::workbench {

struct Route {
  std::string name;     // of the VirtualService
  std::string prefix;   // "/notebook/ns/name/"
  std::string rewrite;  // what the program sees in its place
  std::string service;  // in the namespace of the described object
  std::optional<json::Object> headers = {};
  std::string timeout = {};  // "300s"; empty: none
};
framework::Child route_to(const Route& route, const std::string& ns,
                          const WorkbenchOptions& options);

// A ClusterIP Service of one port: 80, named http-<name>.
framework::Child service_to(const std::string& name, json::Object selector, json::Value target_port,
                            json::Object labels = {});

// A kind of children, with words for one that cannot be made.
framework::OwnedKind owned(const kube::Resource& resource, bool optional = false);
// The same, of which those that are no longer wanted go.
framework::OwnedKind pruned(const kube::Resource& resource, bool optional = false);

}  // namespace hekla::controllers::workbench
