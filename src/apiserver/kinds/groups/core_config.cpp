// v1 ConfigMap, Secret, ServiceAccount.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"
#include "base/bytes.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

constexpr std::uint64_t kMaxDataBytes = 1024 * 1024;

// Neither the flag nor the data of an immutable object may change back.
void check_immutable(const Field& now, const Field& old,
                     std::initializer_list<std::string_view> members, Rules& rules) {
  if (!old["immutable"].flag()) return;
  const std::string why = "field is immutable when `immutable` is set";
  if (!now["immutable"].flag()) rules.forbidden(now["immutable"], why);
  for (std::string_view member : members)
    if (!same(now[member], old[member])) rules.forbidden(now[member], why);
}

std::vector<Cause> validate_config_map(const json::Value& object) {
  Rules rules;
  Field map(object, "");
  std::uint64_t bytes = 0;
  for (const auto& entry : map["data"].members()) {
    rules.config_key(map["data"], entry.key());
    if (map["binaryData"].members().contains(entry.key()))
      rules.invalid(map["data"].key(entry.key()), json::Value(entry.key()),
                    "duplicate of key present in binaryData");
    if (entry.value().is_string()) bytes += entry.value().get_string().size();
  }
  for (const auto& entry : map["binaryData"].members()) {
    rules.config_key(map["binaryData"], entry.key());
    if (entry.value().is_string()) bytes += entry.value().get_string().size() / 4 * 3;
  }
  if (bytes > kMaxDataBytes) rules.causes.push_back(too_long("[]", kMaxDataBytes));
  return std::move(rules.causes);
}

// stringData is a way to write, never to read: it ends up in data.
void merge_string_data(json::Object& secret) {
  json::Value* given = secret.if_contains("stringData");
  if (given == nullptr) return;
  if (given->is_object() && !given->get_object().empty()) {
    json::Object texts = given->get_object();
    json::Object& data = object_in_place(secret, "data");
    for (const auto& entry : texts)
      if (entry.value().is_string())
        data[entry.key()] = base64_encode(json::sv(entry.value().get_string()));
  }
  secret.erase("stringData");
}

void need_keys(const Field& data, std::initializer_list<std::string_view> keys, Rules& rules) {
  for (std::string_view key : keys)
    if (!data.members().contains(key)) rules.required(data.key(key));
}

void check_docker_config(const Field& data, std::string_view key, Rules& rules) {
  Field entry = data.key(key);
  if (!data.members().contains(key)) {
    rules.required(entry);
    return;
  }
  auto text = base64_decode(entry.text());
  auto parsed = text ? json::parse(*text) : fail(Code::bad_request, "illegal base64 data");
  if (!parsed)
    rules.invalid(entry, json::Value("<secret contents redacted>"), parsed.error().message);
  else if (!parsed->is_object())
    rules.invalid(entry, json::Value("<secret contents redacted>"), "json: expected an object");
}

std::vector<Cause> validate_secret(const json::Value& object) {
  Rules rules;
  Field secret(object, ""), data = secret["data"];
  std::uint64_t bytes = 0;
  for (const auto& entry : data.members()) {
    rules.config_key(data, entry.key());
    if (entry.value().is_string()) bytes += entry.value().get_string().size() / 4 * 3;
  }
  if (bytes > kMaxDataBytes) rules.causes.push_back(too_long("data", kMaxDataBytes));
  std::string_view type = secret["type"].text();
  if (type == "kubernetes.io/service-account-token") {
    Field name = secret["metadata"]["annotations"].key("kubernetes.io/service-account.name");
    if (name.text().empty()) rules.required(name);
  } else if (type == "kubernetes.io/dockercfg") {
    check_docker_config(data, ".dockercfg", rules);
  } else if (type == "kubernetes.io/dockerconfigjson") {
    check_docker_config(data, ".dockerconfigjson", rules);
  } else if (type == "kubernetes.io/basic-auth") {
    if (!data.members().contains("username") && !data.members().contains("password"))
      need_keys(data, {"username", "password"}, rules);
  } else if (type == "kubernetes.io/ssh-auth") {
    if (data.key("ssh-privatekey").text().empty()) rules.required(data.key("ssh-privatekey"));
  } else if (type == "kubernetes.io/tls") {
    need_keys(data, {"tls.crt", "tls.key"}, rules);
  }
  return std::move(rules.causes);
}

Kind config_map_kind() {
  Kind kind = builtin_kind("", "v1", "configmaps", "ConfigMap", kCorePackage);
  kind.short_names = {"cm"};
  kind.printing.columns = columns({"Data", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {count(object, {"data"}) + count(object, {"binaryData"}), json::Value(age(object, now))};
  };
  kind.rules.validate = validate_config_map;
  kind.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    check_immutable(Field(object, ""), Field(old, ""), {"data", "binaryData"}, rules);
    return std::move(rules.causes);
  };
  return kind;
}

Kind secret_kind() {
  Kind kind = builtin_kind("", "v1", "secrets", "Secret", kCorePackage);
  kind.printing.columns = columns({"Type", "Data", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"type"})), count(object, {"data"}),
            json::Value(age(object, now))};
  };
  kind.selectable = {{"type", field_at({"type"})}};
  kind.rules.set_defaults = [](json::Value& object) {
    merge_string_data(object.get_object());
    set_default(object.get_object(), "type", "Opaque");
  };
  kind.rules.validate = validate_secret;
  kind.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["type"], Field(old, "")["type"]);
    check_immutable(Field(object, ""), Field(old, ""), {"data"}, rules);
    return std::move(rules.causes);
  };
  return kind;
}

void add_core_config_kinds(Kinds& kinds) {
  add(kinds, config_map_kind());
  add(kinds, secret_kind());
  Kind account = builtin_kind("", "v1", "serviceaccounts", "ServiceAccount", kCorePackage);
  account.short_names = {"sa"};
  account.traits.returns_deleted = true;
  account.subresources = {{.name = "token",
                           .group = "authentication.k8s.io",
                           .version = "v1",
                           .kind = "TokenRequest",
                           .verbs = {"create"},
                           .form = Subresource::Form::token}};
  account.printing.columns = columns({"Secrets", "Age"});
  account.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {count(object, {"secrets"}), json::Value(age(object, now))};
  };
  add(kinds, std::move(account));
}

}  // namespace

extern const KindGroup kinds_core_config;
const KindGroup kinds_core_config{add_core_config_kinds};

}  // namespace hekla::apiserver
