// The subresources each kind is served with, for discovery and for the dispatcher.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/kind.h"

namespace hekla::apiserver {

struct Subresource {
  std::string name;
  std::string group, version, kind;  // of what is sent or returned
  std::vector<std::string> verbs;
};

// By name.
std::vector<Subresource> subresources_of(const Kind& kind);

// Whether a write to it changes the status alone: /approval writes the conditions of a signing
// request.
inline bool writes_status(std::string_view subresource) {
  return subresource == "status" || subresource == "approval";
}

// Resources that can only be posted and are never stored (bindings, reviews): discovery lists them,
// reviews.cpp answers them.
const std::vector<KindPtr>& virtual_kinds();

// Resources that can only be read and are never stored: what a node agent reports
// (node_reports.cpp).
const std::vector<KindPtr>& report_kinds();

}  // namespace hekla::apiserver
