// The roles and bindings every cluster begins with, from api/builtin/roles.txt.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// The format is described at the head of the file. Errors name the line.
Result<std::vector<json::Value>> parse_bootstrap_roles(std::string_view text);
std::vector<json::Value> bootstrap_roles();

// A stored role or binding with what it lacks of `ours` added, as every start of kube-apiserver
// does it; nothing when it lacks nothing or its annotation
// rbac.authorization.kubernetes.io/autoupdate is "false". A binding's role cannot be changed: with
// another roleRef it is to be replaced by `ours` (replace is then set).
struct RbacRepair {
  json::Value object;
  bool replace = false;
};
std::optional<RbacRepair> repaired_rbac(const json::Value& stored, const json::Value& ours);

}  // namespace hekla::apiserver
