// A route as a value: what a request must look like, and what becomes of it; decided by pure
// functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cel/pattern.h"
#include "gateway/request/path.h"
#include "kube/client.h"
#include "net/http.h"

namespace hekla::gateway {

struct TextMatch {
  enum class Kind : std::uint8_t { any, exact, prefix, regex } kind = Kind::any;
  std::string text;
  std::shared_ptr<const cel::Pattern> pattern;  // of regex: matches the whole text
  bool ignore_case = false;
  bool matches(std::string_view value) const;
};

struct RequestMatch {
  TextMatch uri, method, authority;
  std::vector<std::pair<std::string, TextMatch>> headers, without_headers, query;
  bool is_catch_all() const;
};

struct HeaderChanges {
  std::vector<std::pair<std::string, std::string>> set, add;
  std::vector<std::string> remove;
  void apply(net::Headers& headers) const;
};

struct Destination {
  kube::Key service;
  std::uint16_t port = 0;  // of the Service; 0: its only one
  int weight = 100;
  HeaderChanges request, response;
};

struct Redirect {
  std::string uri, authority, scheme;
  int status = 301;
};

struct DirectAnswer {
  int status = 200;
  std::string body;
};

struct Rule {
  kube::Key object;                // the VirtualService that has it
  std::vector<std::string> hosts;  // "*", "*.example.com", "a.example.com"
  std::vector<RequestMatch> matches;
  std::optional<Redirect> redirect;
  std::optional<DirectAnswer> answer;
  std::optional<std::string> rewrite_uri, rewrite_authority;
  Nanos timeout{};  // none
  HeaderChanges request, response;
  std::vector<Destination> destinations;
};

bool host_matches(std::string_view pattern, std::string_view host);
// The match that lets the request in; null: none does.
const RequestMatch* match_of(const Rule& rule, const net::Request& request, const Path& path);
// Hosts and paths that the rule takes whatever else a request says: "prefix /x/ of host *".
std::vector<std::string> unconditional_claims(const Rule& rule);
// The path that the destination is asked for.
std::string rewritten(const Rule& rule, const RequestMatch& match, std::string_view path);
// By weight; `random` is any number. Null where there is none with a weight.
const Destination* choose(const Rule& rule, std::uint64_t random);

}  // namespace hekla::gateway
