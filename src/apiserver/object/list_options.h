// The query of a list or a watch, read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace hekla::apiserver {

enum class VersionMatch { unset, exact, not_older_than };

struct ListOptions {
  std::string label_selector, field_selector;
  std::int64_t limit = 0;
  std::string continue_token;
  std::string resource_version;  // digits, or empty
  VersionMatch match = VersionMatch::unset;
  bool watch = false;
  bool allow_bookmarks = false;
  std::optional<bool> send_initial_events;
  std::optional<std::int64_t> timeout_seconds;
};

// 422 for combinations that make no sense, 400 for a resourceVersion that is not a number.
// Whether the text is a resourceVersion; the refusal is that of a get.
Result<void> check_version(std::string_view revision);
Result<ListOptions> parse_list_options(const net::Query& query, bool watch);

// A flag is set when it is named, unless it says "0" or "false": clients in other languages spell
// it their way.
bool query_flag(const net::Query& query, std::string_view name);
std::optional<std::int64_t> query_integer(const net::Query& query, std::string_view name);

}  // namespace hekla::apiserver
