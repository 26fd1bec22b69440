// The subresources each kind is served with, for discovery and for the dispatcher.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

// All of them, those of status and scale included; by name.
std::vector<Subresource> subresources_of(const Kind& kind);
// Null when the kind has none of that name, and for the object itself. That of a status does not
// say whose it is.
const Subresource* find_subresource(const Kind& kind, std::string_view name);

// Whether replicas can be set through the scale subresource.
inline bool has_scale(const Kind& kind) { return !kind.scale.spec_path.empty(); }

// Whether a write to it changes the status alone: /approval writes the conditions of a signing
// request.
inline bool writes_status(std::string_view subresource) {
  return subresource == "status" || subresource == "approval";
}

}  // namespace hekla::apiserver
