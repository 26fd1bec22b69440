#include "gateway/request/visitor_headers.h"

#include <algorithm>
#include <array>

#include "net/text.h"

namespace hekla::gateway {
namespace {

std::string plain_name(std::string_view header) {
  std::string name;
  for (char c : header) name += c == '_' ? '-' : net::to_lower(c);
  return name;
}

constexpr std::array<std::string_view, 6> kPrefixes{"kubeflow-",         "x-auth-request-",
                                                    "x-envoy-",          "x-remote-",
                                                    "x-forwarded-user-", "x-goog-authenticated-"};
constexpr std::array<std::string_view, 17> kNames{"x-forwarded-user",
                                                  "x-forwarded-email",
                                                  "x-forwarded-groups",
                                                  "x-forwarded-uri",
                                                  "x-forwarded-access-token",
                                                  "x-forwarded-preferred-username",
                                                  "x-forwarded-host",
                                                  "x-forwarded-proto",
                                                  "x-forwarded-port",
                                                  "x-forwarded-for",
                                                  "x-forwarded-prefix",
                                                  "x-forwarded-method",
                                                  "x-original-url",
                                                  "x-rewrite-url",
                                                  "forwarded",
                                                  "x-rstudio-root-path",
                                                  "auth-method"};

bool is_host_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == ':' || c == '[' || c == ']';
}

}  // namespace

bool names_identity(std::string_view header) {
  const std::string name = plain_name(header);
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes, [&](std::string_view p) { return name.starts_with(p); });
}

void strip_identity_headers(net::Headers& headers) {
  net::Headers kept;
  kept.reserve(headers.all().size() + 8);
  for (const auto& [name, value] : headers.all())
    if (!names_identity(name)) kept.add(name, value);
  headers = std::move(kept);
}

void set_forwarded_headers(net::Headers& headers, const kube::User& user, const Seen& seen) {
  if (!user.name.empty()) headers.set("kubeflow-userid", user.name);
  std::string groups;
  for (const std::string& group : user.groups)
    if (!group.starts_with("system:")) groups.append(groups.empty() ? "" : ",").append(group);
  if (!groups.empty()) headers.set("kubeflow-groups", std::move(groups));
  headers.set("X-Forwarded-For", seen.remote_address);
  headers.set("X-Forwarded-Proto", seen.scheme);
  if (!seen.host.empty()) headers.set("X-Forwarded-Host", seen.host);
  headers.set("X-Request-Id", seen.request_id);
}

std::string origin_of(const net::Headers& headers, std::string_view scheme) {
  const std::vector<std::string_view> hosts = headers.get_all("Host");
  if (hosts.size() != 1 || hosts[0].empty() || !std::ranges::all_of(hosts[0], is_host_char))
    return {};
  std::string origin(scheme);
  origin += "://";
  for (char c : hosts[0]) origin += net::to_lower(c);
  const std::string_view usual = scheme == "https" ? ":443" : ":80";
  if (origin.ends_with(usual)) origin.resize(origin.size() - usual.size());
  return origin;
}

bool is_field_value(std::string_view text) { return std::ranges::all_of(text, net::is_field_char); }

bool may_be_set_by_routes(std::string_view header) {
  if (!net::is_token(header)) return false;
  const std::string name = plain_name(header);
  if (name == "x-rstudio-root-path" || name == "x-forwarded-prefix") return true;
  static constexpr std::array<std::string_view, 9> kNever{
      "host",       "cookie",  "authorization", "content-length", "transfer-encoding",
      "connection", "upgrade", "set-cookie",    "expect"};
  return !names_identity(name) && std::ranges::find(kNever, name) == kNever.end() &&
         !name.starts_with("sec-");
}

}  // namespace hekla::gateway
