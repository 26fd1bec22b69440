#include "gateway/request/visit.h"

#include <algorithm>
#include <array>

#include "net/text.h"

namespace hekla::gateway {

bool Visit::is_safe() const {
  static constexpr std::array<std::string_view, 4> kSafe{"GET", "HEAD", "OPTIONS", "TRACE"};
  return std::ranges::find(kSafe, request.method) != kSafe.end();
}

bool Visit::wants_page() const {
  if (request.method != "GET" && request.method != "HEAD") return false;
  if (is_upgrade() || request.headers.has("X-Requested-With")) return false;
  if (const std::string_view mode = request.headers.get("Sec-Fetch-Mode");
      !mode.empty() && mode != "navigate")
    return false;
  // Over plain http browsers do not say what they fetch for: a page's picture is no page.
  const std::string_view accept = request.headers.get("Accept");
  if (!accept.contains("text/html"))
    for (const std::string_view other : {"application/json", "image/", "text/css"})
      if (accept.contains(other)) return false;
  return !path.text.contains("/api/") && !path.text.contains("/apis/") &&
         !path.text.starts_with("/ml_metadata");
}

bool Visit::is_upgrade() const {
  return request.headers.has("Upgrade") &&
         net::equal_ignoring_case(request.headers.get("Upgrade"), "websocket");
}

std::span<const std::string_view> content_roots() {
  static constexpr std::array<std::string_view, 5> kContent{
      "/notebook/", "/tensorboard/", "/pvcviewer/", "/pvcviewers/", "/proxy/"};
  return kContent;
}

bool is_content_path(std::string_view path) {
  return std::ranges::any_of(content_roots(),
                             [&](std::string_view root) { return path.starts_with(root); });
}

Result<void> check_origin(const Visit& visit) {
  const net::Headers& headers = visit.request.headers;
  if (const std::string_view site = headers.get("Sec-Fetch-Site");
      !site.empty() && site != "same-origin" && site != "none")
    return fail(Code::forbidden, "the request was sent by a page of another origin");
  for (std::string_view origin : headers.get_all("Origin"))
    if (!net::equal_ignoring_case(origin, visit.origin))
      return fail(Code::forbidden, "the request was sent by a page of another origin");
  return {};
}

Result<void> check_sender(const Visit& visit) {
  TRY(check_origin(visit));
  const std::string_view referer = visit.request.headers.get("Referer");
  if (referer.empty()) return {};
  if (!referer.starts_with(visit.origin + "/"))
    return fail(Code::forbidden, "the request was sent by a page of another origin");
  const std::string_view target = referer.substr(visit.origin.size());
  const Result<Path> path = read_path(target.substr(0, target.find('#')));
  if (!path || is_content_path(path->text))
    return fail(Code::forbidden, "the request was sent by a user's program, not by a page of ours");
  return {};
}

Result<void> check_upgrade(const Visit& visit, bool origin_needed) {
  const std::vector<std::string_view> origins = visit.request.headers.get_all("Origin");
  if (origins.empty() && !origin_needed) return {};
  if (origins.size() == 1 && !visit.origin.empty() &&
      net::equal_ignoring_case(origins[0], visit.origin))
    return {};
  return fail(Code::forbidden, origins.empty() ? "a WebSocket of a login session needs an Origin"
                                               : "a page of another origin opened the WebSocket");
}

}  // namespace hekla::gateway
