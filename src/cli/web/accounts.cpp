#include "cli/web/accounts.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/bytes.h"

namespace hekla::cli {
namespace {

using gateway::kAuthNamespace, gateway::kDexConfigKey, gateway::kDexConfigMap;

std::string config_path() {
  return ApiSession::path_of(kube::resources::config_maps, kAuthNamespace, kDexConfigMap);
}

// The text, and the object it stands in; a new one where there is none.
struct Stored {
  json::Value object;
  std::string yaml;
  bool exists = true;
};

Result<Stored> read_stored(ApiSession& session) {
  Result<json::Value> object = session.call("GET", config_path());
  if (object) return Stored{*object, json::text_at(*object, {"data", kDexConfigKey})};
  if (object.error().code != Code::not_found) return std::unexpected(object.error());
  return Stored{json::Object{{"apiVersion", "v1"},
                             {"kind", "ConfigMap"},
                             {"metadata", json::Object{{"name", kDexConfigMap},
                                                       {"namespace", kAuthNamespace}}}},
                gateway::first_dex_config(), false};
}

// The resourceVersion that was read goes with it: two who edit at the same time do not undo each
// other's work.
Result<void> write_stored(ApiSession& session, Stored stored, const std::string& yaml) {
  json::at_path(stored.object, {"data", kDexConfigKey}) = yaml;
  const std::string body = json::serialize(stored.object);
  if (stored.exists) {
    TRY(session.call("PUT", config_path(), body));
    return {};
  }
  const json::Object ns{{"apiVersion", "v1"},
                        {"kind", "Namespace"},
                        {"metadata", json::Object{{"name", kAuthNamespace}}}};
  if (Result<json::Value> made = session.call(
          "POST", ApiSession::path_of(kube::resources::namespaces, ""), json::serialize(ns));
      !made && made.error().code != Code::already_exists)
    return std::unexpected(made.error());
  TRY(session.call("POST", ApiSession::path_of(kube::resources::config_maps, kAuthNamespace),
                   body));
  return {};
}

std::string read_hidden(const char* prompt) {
  std::fputs(prompt, stderr);
  termios before{};
  const bool terminal = ::tcgetattr(STDIN_FILENO, &before) == 0;
  termios hidden = before;
  hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  if (terminal) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  std::string line;
  std::getline(std::cin, line);
  if (terminal) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  std::fputs("\n", stderr);
  return line;
}

}  // namespace

Result<gateway::DexConfig> read_accounts(ApiSession& session) {
  const Stored stored = TRY(read_stored(session));
  Result<json::Value> passwords = session.call(
      "GET", ApiSession::path_of(kube::resources::secrets, kAuthNamespace, gateway::kDexPasswords));
  return gateway::read_dex_config(stored.yaml, [&](std::string_view name) -> std::string {
    if (!passwords) return {};
    return base64_decode(json::string_at(*passwords, {"data", name})).value_or("");
  });
}

Result<void> set_account(ApiSession& session, gateway::DexUser user, bool exists) {
  Stored stored = TRY(read_stored(session));
  const gateway::DexConfig config = TRY(read_accounts(session));
  const bool found = config.find(user.email) != nullptr;
  if (found && !exists)
    return fail(Code::already_exists,
                "user " + user.email + " is there already; hekla user passwd changes a password");
  if (!found && exists) return fail(Code::not_found, "no user " + user.email);
  return write_stored(session, stored, TRY(gateway::with_user(stored.yaml, user)));
}

Result<void> remove_account(ApiSession& session, const std::string& email) {
  Stored stored = TRY(read_stored(session));
  return write_stored(session, stored, TRY(gateway::without_user(stored.yaml, email)));
}

Result<std::string> ask_new_password(const std::string& email) {
  if (!::isatty(STDIN_FILENO)) {
    std::string line;
    std::getline(std::cin, line);
    if (line.empty()) return fail(Code::invalid, "no password on standard input");
    return line;
  }
  const std::string first = read_hidden(("new password of " + email + ": ").c_str());
  if (read_hidden("once more: ") != first)
    return fail(Code::invalid, "the two passwords differ; nothing was changed");
  return first;
}

}  // namespace hekla::cli
