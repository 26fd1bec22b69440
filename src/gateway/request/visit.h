// One request at the front door, read once, with the side that answers it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gateway/request/path.h"
#include "net/http.h"

namespace hekla::gateway {

struct Visit {
  net::Request request;  // as it came, but without what names_identity()
  Path path;
  std::string origin;  // "http://localhost:8080", by which the visitor came
  std::shared_ptr<net::ResponseWriter> writer;

  bool secure() const { return origin.starts_with("https:"); }
  bool is_safe() const;     // the method changes nothing
  bool wants_page() const;  // a browser that shows what it gets, not a script
  bool is_upgrade() const;  // to a WebSocket
};

// Whether a change or an upgrade comes from the origin it goes to, as far as the browser says.
Result<void> check_origin(const Visit& visit);
// Whether a change comes from a page of ours, as far as the browser says: Origin, Sec-Fetch-Site
// and Referer. Scripts send none of them. An upgrade must have an Origin unless `origin_needed` is
// false.
Result<void> check_sender(const Visit& visit);
Result<void> check_upgrade(const Visit& visit, bool origin_needed);

// Where the paths begin whose answers are made by users' programs: "/notebook/", with the namespace
// behind it.
std::span<const std::string_view> content_roots();
bool is_content_path(std::string_view path);

}  // namespace hekla::gateway
