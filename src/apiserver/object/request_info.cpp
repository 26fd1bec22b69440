#include "apiserver/object/request_info.h"

#include <algorithm>
#include <vector>

#include "apiserver/object/list_options.h"

namespace hekla::apiserver {

namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    std::size_t slash = path.find('/');
    if (slash != 0) parts.emplace_back(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return parts;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string verb_of(const net::Request& request, bool named, bool watch) {
  if (request.method == "GET" || request.method == "HEAD")
    return watch ? "watch" : named ? "get" : "list";
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return named ? "delete" : "deletecollection";
  return lower(request.method);
}

}  // namespace

RequestInfo parse_request(const net::Request& request) {
  RequestInfo info;
  info.path = request.path;
  info.verb = lower(request.method);
  std::vector<std::string> parts = split(request.path);
  std::size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    info.version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    info.group = parts[1];
    info.version = parts[2];
    at = 3;
  } else {
    return info;
  }
  info.is_resource = true;
  const bool prefixed = parts[at] == "watch" && parts.size() > at + 1;  // the old /watch/ prefix
  if (prefixed) ++at;
  // namespaces/{ns}/{resource}..., but namespaces/{name}[/status|/finalize] is the namespace
  // itself.
  if (parts[at] == "namespaces" && parts.size() > at + 1) {
    const bool own_subresource = parts.size() == at + 3 && info.group.empty() &&
                                 (parts[at + 2] == "status" || parts[at + 2] == "finalize");
    if (parts.size() > at + 2) info.ns = parts[at + 1];
    if (parts.size() > at + 2 && !own_subresource) at += 2;
  }
  info.plural = parts[at];
  if (parts.size() > at + 1) info.name = parts[at + 1];
  if (parts.size() > at + 2) info.subresource = parts[at + 2];
  for (std::size_t i = at + 3; i < parts.size(); ++i) info.rest += "/" + parts[i];
  if (info.plural == "namespaces" && info.group.empty()) info.ns = info.name;
  // ?watch makes a watch of a list, not of a get.
  const bool watch = prefixed || (info.name.empty() && query_flag(request.query, "watch"));
  info.verb = verb_of(request, !info.name.empty(), watch && info.subresource.empty());
  return info;
}

}  // namespace hekla::apiserver
