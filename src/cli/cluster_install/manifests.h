// The objects of an installation.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::cli {

struct Installed {
  std::string ns = "hekla-system";
  std::string image;
};

// The definitions of all kinds.
Result<std::vector<json::Value>> definitions();
// The rest, in the order in which it is to be made: the namespace first.
Result<std::vector<json::Value>> objects_of(const Installed& installed);

// On what is ours: who made it, and which of its kind it is.
inline constexpr const char* kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr const char* kHekla = "hekla";

}  // namespace hekla::cli
