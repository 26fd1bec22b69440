#include "kube/rest/exec_credentials.h"

#include <filesystem>

#include "base/command.h"
#include "base/log.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::kube {
namespace {

constexpr std::chrono::seconds kPatience{60}, kRestAfterFetch{10};
constexpr std::string_view kGroup = "client.authentication.k8s.io/";

std::string exec_info(const ExecPlugin& plugin) {
  json::Object spec{{"interactive", false}};
  if (plugin.cluster) spec.emplace("cluster", *plugin.cluster);
  return json::serialize(json::Object{
      {"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", std::move(spec)}});
}

Result<std::string> run_plugin(const ExecPlugin& plugin) {
  std::vector<std::string> environment = plugin.environment;
  environment.push_back("KUBERNETES_EXEC_INFO=" + exec_info(plugin));
  Result<CommandOutcome> outcome = run_command(plugin.command, environment, kPatience);
  const std::string name = "exec: executable " + plugin.command.front();
  if (!outcome && outcome.error().code == Code::not_found)
    return fail(
        Code::unavailable,
        name + " not found" + (plugin.install_hint.empty() ? "" : "\n\n" + plugin.install_hint));
  if (!outcome) return fail(Code::unavailable, "exec: " + outcome.error().message);
  if (outcome->exit_code != 0)
    return fail(Code::unavailable,
                name + " failed with exit code " + std::to_string(outcome->exit_code));
  return std::move(outcome->output);
}

struct Printed {
  net::Credential credential;
  std::optional<WallTime> expires;
};

Result<Printed> read_printed(const std::string& text, const std::string& api_version) {
  Result<json::Value> object = json::parse(text);
  if (!object) return fail(Code::unavailable, "decoding stdout: " + object.error().message);
  if (json::string_at(*object, {"kind"}) != "ExecCredential")
    return fail(Code::unavailable, "decoding stdout: expected kind ExecCredential, got \"" +
                                       json::text_at(*object, {"kind"}) + "\"");
  if (json::string_at(*object, {"apiVersion"}) != api_version)
    return fail(Code::unavailable, "exec plugin is configured to use API version " + api_version +
                                       ", plugin returned version " +
                                       json::text_at(*object, {"apiVersion"}));
  if (!json::object_at(*object, {"status"}))
    return fail(Code::unavailable, "exec plugin didn't return a status field");
  Printed printed;
  printed.credential.token = json::text_at(*object, {"status", "token"});
  KeyPair pair{json::text_at(*object, {"status", "clientCertificateData"}),
               json::text_at(*object, {"status", "clientKeyData"})};
  if (pair.certificate_pem.empty() != pair.key_pem.empty())
    return fail(Code::unavailable, "exec plugin returned only certificate or key, not both");
  if (!pair.key_pem.empty()) printed.credential.certificate = std::move(pair);
  if (printed.credential.token.empty() && !printed.credential.certificate)
    return fail(Code::unavailable, "exec plugin didn't return a token or cert/key pair");
  if (const std::string end = json::text_at(*object, {"status", "expirationTimestamp"});
      !end.empty()) {
    Result<WallTime> expires = model::parse_rfc3339(end);
    if (!expires)
      return fail(Code::unavailable,
                  "decoding stdout: expirationTimestamp: " + expires.error().message);
    printed.expires = *expires;
  }
  return printed;
}

}  // namespace

Result<ExecPlugin> read_exec_plugin(const json::Value& exec, const std::string& directory) {
  ExecPlugin plugin;
  auto refuse = [](std::string why) { return fail(Code::bad_request, std::move(why)); };
  plugin.api_version = json::text_at(exec, {"apiVersion"});
  if (plugin.api_version.empty())
    return refuse("apiVersion must be specified to use exec authentication plugin");
  if (plugin.api_version != std::string(kGroup) + "v1" &&
      plugin.api_version != std::string(kGroup) + "v1beta1")
    return refuse("invalid apiVersion \"" + plugin.api_version + "\"");
  std::string command = json::text_at(exec, {"command"});
  if (command.empty()) return refuse("command must be specified to use exec authentication plugin");
  const std::string mode = json::text_at(exec, {"interactiveMode"});
  if (mode.empty() && plugin.api_version.ends_with("/v1"))
    return refuse("interactiveMode must be specified to use exec authentication plugin");
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable" && mode != "Always")
    return refuse("invalid interactiveMode: \"" + mode + "\"");
  if (mode == "Always")
    return refuse("interactiveMode: a plugin that must talk to somebody cannot be used here");
  if (command.find('/') != std::string::npos && !command.starts_with('/'))
    command = (std::filesystem::path(directory) / command).lexically_normal().string();
  plugin.command.push_back(std::move(command));
  if (const json::Array* arguments = json::array_at(exec, {"args"}))
    for (const json::Value& one : *arguments)
      if (one.is_string()) plugin.command.emplace_back(json::sv(one.get_string()));
  if (const json::Array* variables = json::array_at(exec, {"env"}))
    for (const json::Value& one : *variables) {
      if (json::text_at(one, {"name"}).empty())
        return refuse("env variable name must be specified to use exec authentication plugin");
      plugin.environment.push_back(json::text_at(one, {"name"}) + "=" +
                                   json::text_at(one, {"value"}));
    }
  plugin.install_hint = json::text_at(exec, {"installHint"});
  return plugin;
}

Result<void> ExecCredentials::refresh() {
  std::lock_guard lock(mutex_);
  return refresh_locked();
}

Result<void> ExecCredentials::refresh_locked() {
  if (known_ && (!expires_ || clock_.wall() < *expires_)) return {};
  Printed printed = TRY(read_printed(TRY(run_plugin(plugin_)), plugin_.api_version));
  known_ = std::move(printed.credential);
  expires_ = printed.expires;
  fetched_ = clock_.mono();
  return {};
}

net::Credential ExecCredentials::current() {
  std::lock_guard lock(mutex_);
  if (Result<void> done = refresh_locked(); !done)
    log_error("kube", "getting credentials failed", {{"error", done.error().message}});
  return known_.value_or(net::Credential{});
}

void ExecCredentials::refused() {
  std::lock_guard lock(mutex_);
  // What was fetched just now may be newer than what was refused, and will not get better by asking
  // again and again.
  if (known_ && clock_.mono() - fetched_ >= kRestAfterFetch) expires_ = WallTime{};
}

}  // namespace hekla::kube
