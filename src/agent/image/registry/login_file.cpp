#include "agent/image/registry/login_file.h"

#include <filesystem>

#include "agent/os/instance.h"
#include "base/bytes.h"
#include "base/disk.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

Result<json::Value> read_login_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return json::Value(json::Object());
  json::Value config = TRY(json::parse(TRY(read_file(path))));
  if (!config.is_object()) return fail(Code::invalid, path + ": expected a JSON object");
  return config;
}

}  // namespace

std::string login_file(const std::string& data_dir) { return data_dir + "/config.json"; }

Result<RegistryLogins> read_logins(const std::string& data_dir) {
  RegistryLogins logins;
  const std::string path = login_file(data_dir);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return logins;
  if (Result<void> added = logins.add(TRY(read_file(path))); !added)
    return fail(added.error().code, path + ": " + added.error().message);
  return logins;
}

Result<void> add_login(const std::string& data_dir, const std::string& registry,
                       const RegistryLogin& login) {
  TRY(make_directories(data_dir));
  json::Value config = TRY(read_login_file(login_file(data_dir)));
  json::Object entry;
  entry["auth"] = base64_encode(login.user + ":" + login.password);
  json::at_path(config, {"auths", registry}) = std::move(entry);
  return write_file_atomically(login_file(data_dir), json::serialize_pretty(config), 0600);
}

Result<bool> remove_login(const std::string& data_dir, const std::string& registry) {
  json::Value config = TRY(read_login_file(login_file(data_dir)));
  json::Value& auths = json::at_path(config, {"auths"});
  if (!auths.is_object() || auths.get_object().erase(registry) == 0) return false;
  TRY(write_file_atomically(login_file(data_dir), json::serialize_pretty(config), 0600));
  return true;
}

}  // namespace hekla::agent
