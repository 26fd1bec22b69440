#include "apiserver/auth/impersonation.h"

#include <algorithm>

#include "net/text.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kExtraHeader = "impersonate-extra-";
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

RequestInfo to_impersonate(std::string group, std::string plural, std::string name) {
  RequestInfo info;
  info.is_resource = true;
  info.verb = "impersonate";
  info.group = std::move(group);
  info.version = "v1";
  info.plural = std::move(plural);
  info.name = std::move(name);
  return info;
}

// The resource to be allowed for the user's name: a service account is one of its namespace.
RequestInfo to_impersonate_user(const std::string& name) {
  const std::string_view rest =
      std::string_view(name).substr(std::min(name.size(), kAccountPrefix.size()));
  const std::size_t colon = rest.find(':');
  if (!name.starts_with(kAccountPrefix) || colon == std::string_view::npos)
    return to_impersonate("", "users", name);
  RequestInfo info = to_impersonate("", "serviceaccounts", std::string(rest.substr(colon + 1)));
  info.ns = rest.substr(0, colon);
  return info;
}

struct AskedIdentity {
  kube::UserInfo user;
  std::vector<RequestInfo> needs;
};

AskedIdentity asked_identity(const net::Headers& headers) {
  AskedIdentity asked;
  asked.user.name = headers.get("Impersonate-User");
  asked.user.uid = headers.get("Impersonate-Uid");
  if (!asked.user.name.empty()) asked.needs.push_back(to_impersonate_user(asked.user.name));
  for (std::string_view group : headers.get_all("Impersonate-Group")) {
    asked.user.groups.emplace_back(group);
    asked.needs.push_back(to_impersonate("", "groups", std::string(group)));
  }
  if (!asked.user.uid.empty())
    asked.needs.push_back(to_impersonate("authentication.k8s.io", "uids", asked.user.uid));
  for (const auto& [header, value] : headers.all()) {
    const std::string_view name = header;
    if (!net::equal_ignoring_case(name.substr(0, kExtraHeader.size()), kExtraHeader)) continue;
    std::string key(name.substr(kExtraHeader.size()));
    std::transform(key.begin(), key.end(), key.begin(), net::to_lower);
    key = net::url_decode(key);
    auto known = std::find_if(asked.user.extra.begin(), asked.user.extra.end(),
                              [&](const auto& one) { return one.first == key; });
    if (known == asked.user.extra.end()) known = asked.user.extra.insert(known, {key, {}});
    known->second.push_back(value);
    RequestInfo need = to_impersonate("authentication.k8s.io", "userextras", value);
    need.subresource = key;
    asked.needs.push_back(std::move(need));
  }
  return asked;
}

// The groups somebody of that name always has.
void add_implied_groups(const RequestInfo& who, kube::UserInfo& user) {
  if (user.groups.empty() && who.plural == "serviceaccounts")
    user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + who.ns};
  if (user.name == "system:anonymous") {
    if (!in_group(user, "system:unauthenticated"))
      user.groups.emplace_back("system:unauthenticated");
  } else if (!in_group(user, "system:authenticated") && !in_group(user, "system:unauthenticated")) {
    user.groups.emplace_back("system:authenticated");
  }
}

}  // namespace

Result<kube::UserInfo> impersonated(const RequestAuthorizer& authorizer,
                                    const net::Headers& headers, kube::UserInfo user) {
  AskedIdentity asked = asked_identity(headers);
  if (asked.needs.empty()) return user;
  if (asked.user.name.empty())
    return fail(Code::internal, "an identity was requested without impersonating a user");
  for (const RequestInfo& need : asked.needs)
    if (std::string why; !authorizer.allows(user, need, &why))
      return std::unexpected(forbidden_request(user, need, why));
  add_implied_groups(asked.needs.front(), asked.user);
  return std::move(asked.user);
}

}  // namespace hekla::apiserver
