// One HTTP request to a registry or its token server, by libcurl. Blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/own_ranges.h"

namespace hekla::agent {

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  bool plain_allowed = false;        // http:// here and in redirects
  bool no_proxy = false;
  std::string ca_file;  // authorities beside the system's; empty for those alone
  // The body: a text, or a whole file.
  std::string body;
  int body_fd = -1;
  std::int64_t body_size = 0;
  // Takes the content of an answer of the 200s in pieces; false breaks the transfer off. The first
  // argument is the status.
  std::function<bool(long, std::string_view)> sink;
  const std::atomic<bool>* cancelled = nullptr;  // once true, the transfer breaks off
  net::OwnRanges own_ranges;                     // where no connection is made to
};

struct HttpReply {
  long status = 0;
  std::multimap<std::string, std::string> headers;  // names in lower case; of the last answer
  std::string error_body;                           // the beginning of it, when not of the 200s

  std::string header(const std::string& name) const;
  bool ok() const { return status >= 200 && status < 300; }
};

// An answer of any status is a success; the error is what kept it from arriving whole. Redirects of
// GET and HEAD are followed, without the authorization when they lead to another host.
Result<HttpReply> http_transfer(const HttpRequest& request);

}  // namespace hekla::agent
