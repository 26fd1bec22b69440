// A request's path, read once. Whoever authorises, routes and forwards uses this one value, so that
// none of them can understand it differently from the others.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::gateway {

struct Path {
  // As it is matched and passed on: percent-encoded, unreserved characters decoded, backslashes
  // turned, "." and ".." gone. Begins with a slash.
  std::string text;
  std::string query;  // as sent, without the question mark
  bool has_query = false;

  // The target to send on, the path replaced.
  std::string target(std::string_view path) const;
  std::string target() const { return target(text); }
};

// Refuses what two readers could understand differently: encoded slashes, backslashes and control
// characters, bad percent signs, double slashes, path parameters, fragments, bytes that no URL has.
Result<Path> read_path(std::string_view target);

// The segment `index` of a path: ("/notebook/a/nb/lab", 1) is "a"; empty where there is none.
std::string_view segment(std::string_view path, std::size_t index);

}  // namespace hekla::gateway
