#include "gateway/dex_config.h"

#include <algorithm>

#include "gateway/password.h"
#include "json/parse.h"
#include "net/text.h"

namespace hekla::gateway {
namespace {

constexpr std::size_t kMaxUsers = 10'000;

Result<json::Value> parse_document(std::string_view yaml) {
  std::vector<json::YamlDocument> documents = TRY(json::parse_yaml(yaml));
  if (documents.empty()) return json::Value(json::Object{});
  if (!documents[0].value.is_object()) return fail(Code::invalid, "config.yaml: not a mapping");
  return std::move(documents[0].value);
}

Result<DexUser> read_user(const json::Value& entry, const Environment& environment) {
  DexUser user;
  user.email = json::text_at(entry, {"email"});
  user.username = json::text_at(entry, {"username"});
  user.user_id = json::text_at(entry, {"userID"});
  user.hash = json::text_at(entry, {"hash"});
  const std::string variable = json::text_at(entry, {"hashFromEnv"});
  if (user.hash.empty() && !variable.empty()) user.hash = environment(variable);
  if (const json::Array* groups = json::array_at(entry, {"groups"}))
    for (const json::Value& group : *groups)
      if (group.is_string()) user.groups.emplace_back(json::sv(group.as_string()));
  TRY(check_email(user.email));
  return user;
}

void read_users(const json::Value& config, const Environment& environment, DexConfig& out) {
  const json::Array* entries = json::array_at(config, {"staticPasswords"});
  for (std::size_t i = 0; entries && i < entries->size() && i < kMaxUsers; ++i) {
    const std::string where = "staticPasswords[" + std::to_string(i) + "]";
    Result<DexUser> user = read_user((*entries)[i], environment);
    if (!user) {
      out.remarks.push_back(where + ": " + user.error().message);
    } else if (out.find(user->email)) {
      out.remarks.push_back(where + ".email: " + user->email + " is there already");
    } else {
      if (!is_bcrypt(user->hash))
        out.remarks.push_back(where + ".hash: no bcrypt hash; " + user->email + " cannot log in");
      out.users.push_back(std::move(*user));
    }
  }
}

bool is_user(const json::Value& entry, std::string_view email) {
  return net::equal_ignoring_case(json::string_at(entry, {"email"}), email);
}

}  // namespace

const DexUser* DexConfig::find(std::string_view email) const {
  for (const DexUser& user : users)
    if (net::equal_ignoring_case(user.email, email)) return &user;
  return nullptr;
}

Result<void> check_email(std::string_view email) {
  const std::size_t at = email.find('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == email.size() || email.size() > 254 ||
      email.find('@', at + 1) != std::string_view::npos || email.starts_with("system:") ||
      !std::ranges::all_of(email,
                           [](char c) { return c > 0x20 && c < 0x7f && c != ',' && c != '"'; }))
    return fail(Code::invalid, "email: \"" + std::string(email) + "\" is no e-mail address");
  return {};
}

Result<DexConfig> read_dex_config(std::string_view yaml, const Environment& environment) {
  const json::Value config = TRY(parse_document(yaml));
  DexConfig out;
  out.passwords = json::bool_at(config, {"enablePasswordDB"}, true);
  read_users(config, environment, out);
  if (const json::Array* connectors = json::array_at(config, {"connectors"}))
    for (const json::Value& entry : *connectors) {
      DexConnector connector{json::text_at(entry, {"type"}),
                             json::text_at(entry, {"id"}),
                             json::text_at(entry, {"name"}),
                             {}};
      if (const json::Value* settings = json::find(entry, "config")) connector.config = *settings;
      out.remarks.push_back("connector type " + connector.type + " is not supported");
      out.connectors.push_back(std::move(connector));
    }
  return out;
}

std::string first_dex_config() {
  return "issuer: http://dex.auth.svc.cluster.local:5556/dex\n"
         "storage:\n  type: kubernetes\n  config:\n    inCluster: true\n"
         "web:\n  http: 0.0.0.0:5556\n"
         "oauth2:\n  skipApprovalScreen: true\n"
         "enablePasswordDB: true\n"
         "staticPasswords: []\n"
         "staticClients:\n"
         "- idEnv: OIDC_CLIENT_ID\n  redirectURIs: [\"/oauth2/callback\"]\n"
         "  name: Dex Login Application\n  secretEnv: OIDC_CLIENT_SECRET\n";
}

Result<std::string> with_user(std::string_view yaml, const DexUser& user) {
  TRY(check_email(user.email));
  json::Value config = TRY(parse_document(yaml));
  json::Value& list = json::member_of(config.as_object(), "staticPasswords");
  if (!list.is_array()) list = json::Array{};
  for (json::Value& entry : list.as_array())
    if (is_user(entry, user.email) && entry.is_object()) {
      entry.as_object().erase("hashFromEnv");
      json::member_of(entry.as_object(), "hash") = user.hash;
      return json::to_yaml(config);
    }
  json::Object entry{{"email", user.email},
                     {"hash", user.hash},
                     {"username", user.username},
                     {"userID", user.user_id}};
  json::Array groups;
  for (const std::string& group : user.groups) groups.emplace_back(group);
  if (!groups.empty()) entry["groups"] = std::move(groups);
  list.as_array().push_back(std::move(entry));
  return json::to_yaml(config);
}

Result<std::string> without_user(std::string_view yaml, std::string_view email) {
  json::Value config = TRY(parse_document(yaml));
  json::Value& list = json::member_of(config.as_object(), "staticPasswords");
  const std::size_t before = list.is_array() ? list.as_array().size() : 0;
  if (list.is_array())
    json::erase_if(list.as_array(),
                   [&](const json::Value& entry) { return is_user(entry, email); });
  if (!list.is_array() || list.as_array().size() == before)
    return fail(Code::not_found, "no user " + std::string(email));
  return json::to_yaml(config);
}

}  // namespace hekla::gateway
