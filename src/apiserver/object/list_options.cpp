#include "apiserver/object/list_options.h"

#include <algorithm>
#include <charconv>

#include "apiserver/object/kind.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {

namespace {

std::unexpected<Error> forbid(std::string field, std::string why) {
  return std::unexpected(
      invalid_options_error("ListOptions", forbidden_value(std::move(field), std::move(why))));
}

Result<VersionMatch> parse_match(std::string_view text) {
  if (text.empty()) return VersionMatch::unset;
  if (text == "Exact") return VersionMatch::exact;
  if (text == "NotOlderThan") return VersionMatch::not_older_than;
  return std::unexpected(invalid_options_error(
      "ListOptions",
      unsupported_value("resourceVersionMatch", json::Value(text), {"Exact", "NotOlderThan", ""})));
}

Result<void> check_list(const ListOptions& options) {
  if (options.send_initial_events)
    return forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
  if (options.match == VersionMatch::unset) return {};
  if (!options.continue_token.empty())
    return forbid("resourceVersionMatch",
                  "resourceVersionMatch is forbidden when continue is provided");
  if (options.resource_version.empty())
    return forbid("resourceVersionMatch",
                  "resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (options.match == VersionMatch::exact && options.resource_version == "0")
    return forbid("resourceVersionMatch",
                  "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  return {};
}

Result<void> check_watch(const ListOptions& options) {
  if (!options.continue_token.empty())
    return forbid("resourceVersionMatch",
                  "resourceVersionMatch is forbidden when continue is provided");
  if (options.send_initial_events && options.match != VersionMatch::not_older_than)
    return forbid("resourceVersionMatch",
                  "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (!options.send_initial_events && options.match != VersionMatch::unset)
    return forbid(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  return {};
}

bool is_number(std::string_view text) {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_false(std::string_view text) {
  constexpr std::string_view kFalse = "false";
  return text == "0" ||
         std::ranges::equal(text, kFalse, [](char a, char b) { return (a | 0x20) == b; });
}

}  // namespace

bool query_flag(const net::Query& query, std::string_view name) {
  return query.has(name) && !is_false(query.get(name));
}

std::optional<std::int64_t> query_integer(const net::Query& query, std::string_view name) {
  std::string_view text = query.get(name);
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<void> check_version(std::string_view revision) {
  if (revision.size() <= 19 &&
      std::all_of(revision.begin(), revision.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return {};
  const std::string text(revision);
  return fail(Code::internal, "resourceVersion: Invalid value: \"" + text +
                                  "\": strconv.ParseUint: parsing \"" + text +
                                  "\": invalid syntax");
}

Result<ListOptions> parse_list_options(const net::Query& query, bool watch) {
  ListOptions options;
  options.watch = watch;
  options.label_selector = query.get("labelSelector");
  options.field_selector = query.get("fieldSelector");
  options.limit = std::max<std::int64_t>(0, query_integer(query, "limit").value_or(0));
  options.continue_token = query.get("continue");
  options.resource_version = query.get("resourceVersion");
  options.match = TRY(parse_match(query.get("resourceVersionMatch")));
  options.allow_bookmarks = query_flag(query, "allowWatchBookmarks");
  if (!query.get("sendInitialEvents").empty())
    options.send_initial_events = query_flag(query, "sendInitialEvents");
  options.timeout_seconds = query_integer(query, "timeoutSeconds");
  for (std::string_view number : {"limit", "timeoutSeconds"})
    if (std::string_view text = query.get(number); !text.empty() && !query_integer(query, number))
      return fail(Code::bad_request,
                  "strconv.ParseInt: parsing \"" + std::string(text) +
                      "\": " + (is_number(text) ? "value out of range" : "invalid syntax"));
  TRY(watch ? check_watch(options) : check_list(options));
  Result<void> version = check_version(options.resource_version);
  if (!version && !watch)
    return fail(Code::bad_request, "invalid resource version: " + version.error().message);
  TRY(version);
  return options;
}

}  // namespace hekla::apiserver
