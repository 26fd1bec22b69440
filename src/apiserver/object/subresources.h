// The subresources each kind is served with, for discovery and for the dispatcher.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

struct Subresource {
  std::string name;
  std::string group, version, kind;  // of what is sent or returned
  std::vector<std::string> verbs;
};

// By name.
std::vector<Subresource> subresources_of(const Kind& kind);

// Whether replicas can be set through the scale subresource.
inline bool has_scale(const Kind& kind) { return !kind.scale_spec_path.empty(); }

// Whether a write to it changes the status alone: /approval writes the conditions of a signing
// request.
inline bool writes_status(std::string_view subresource) {
  return subresource == "status" || subresource == "approval";
}

}  // namespace hekla::apiserver
