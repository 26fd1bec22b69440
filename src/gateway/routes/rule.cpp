#include "gateway/routes/rule.h"

#include <algorithm>

#include "net/text.h"

namespace hekla::gateway {
namespace {

bool starts(std::string_view text, std::string_view prefix, bool ignore_case) {
  if (text.size() < prefix.size()) return false;
  const std::string_view head = text.substr(0, prefix.size());
  return ignore_case ? net::equal_ignoring_case(head, prefix) : head == prefix;
}

std::string_view host_of(const net::Request& request) {
  std::string_view host = request.headers.get("Host");
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos)
    host = host.substr(0, colon);
  return host;
}

bool all_match(const RequestMatch& match, const net::Request& request, const Path& path) {
  if (!match.uri.matches(path.text) || !match.method.matches(request.method) ||
      !match.authority.matches(request.headers.get("Host")))
    return false;
  for (const auto& [name, wanted] : match.headers)
    if (!request.headers.has(name) || !wanted.matches(request.headers.get(name))) return false;
  for (const auto& [name, unwanted] : match.without_headers)
    if (request.headers.has(name) && unwanted.matches(request.headers.get(name))) return false;
  if (match.query.empty()) return true;
  const net::Query query = net::Query::parse(path.query);
  return std::ranges::all_of(match.query, [&](const auto& one) {
    return query.has(one.first) && one.second.matches(query.get(one.first));
  });
}

}  // namespace

bool TextMatch::matches(std::string_view value) const {
  switch (kind) {
    case Kind::any:
      return true;
    case Kind::exact:
      return ignore_case ? net::equal_ignoring_case(value, text) : value == text;
    case Kind::prefix:
      return starts(value, text, ignore_case);
    case Kind::regex:
      return pattern && pattern->matches(value);
  }
  return false;
}

bool RequestMatch::is_catch_all() const {
  return uri.kind == TextMatch::Kind::any ||
         (uri.kind == TextMatch::Kind::prefix && (uri.text == "/" || uri.text.empty())) ||
         (uri.kind == TextMatch::Kind::regex && (uri.text == "*" || uri.text == ".*"));
}

void HeaderChanges::apply(net::Headers& headers) const {
  for (const std::string& name : remove) headers.remove(name);
  for (const auto& [name, value] : set) headers.set(name, value);
  for (const auto& [name, value] : add) headers.add(name, value);
}

bool host_matches(std::string_view pattern, std::string_view host) {
  if (pattern == "*") return true;
  if (pattern.starts_with("*.")) {
    const std::string_view end = pattern.substr(1);
    return host.size() > end.size() &&
           net::equal_ignoring_case(host.substr(host.size() - end.size()), end);
  }
  return net::equal_ignoring_case(pattern, host);
}

const RequestMatch* match_of(const Rule& rule, const net::Request& request, const Path& path) {
  const std::string_view host = host_of(request);
  if (std::ranges::none_of(rule.hosts, [&](const auto& one) { return host_matches(one, host); }))
    return nullptr;
  static const RequestMatch kEverything;
  if (rule.matches.empty()) return &kEverything;
  const auto at = std::ranges::find_if(
      rule.matches, [&](const RequestMatch& match) { return all_match(match, request, path); });
  return at == rule.matches.end() ? nullptr : &*at;
}

std::vector<std::string> unconditional_claims(const Rule& rule) {
  std::vector<std::string> claims;
  for (const RequestMatch& match : rule.matches) {
    using Kind = TextMatch::Kind;
    if (match.method.kind != Kind::any || match.authority.kind != Kind::any ||
        !match.headers.empty() || !match.without_headers.empty() || !match.query.empty() ||
        match.uri.kind == Kind::any)
      continue;
    const char* kind = match.uri.kind == Kind::exact    ? "path "
                       : match.uri.kind == Kind::prefix ? "prefix "
                                                        : "expression ";
    for (const std::string& host : rule.hosts)
      claims.push_back(kind + match.uri.text + " of host " + host);
  }
  return claims;
}

std::string rewritten(const Rule& rule, const RequestMatch& match, std::string_view path) {
  if (!rule.rewrite_uri) return std::string(path);
  if (match.uri.kind == TextMatch::Kind::prefix)
    return *rule.rewrite_uri + std::string(path.substr(match.uri.text.size()));
  return *rule.rewrite_uri;
}

const Destination* choose(const Rule& rule, std::uint64_t random) {
  std::uint64_t sum = 0;
  for (const Destination& one : rule.destinations) sum += static_cast<std::uint64_t>(one.weight);
  if (sum == 0) return nullptr;
  std::uint64_t at = random % sum;
  for (const Destination& one : rule.destinations) {
    if (at < static_cast<std::uint64_t>(one.weight)) return &one;
    at -= static_cast<std::uint64_t>(one.weight);
  }
  return nullptr;
}

}  // namespace hekla::gateway
