#include "agent/image/registry/registry_auth.h"

#include <algorithm>

#include "agent/image/registry/reference.h"
#include "base/bytes.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

std::string place_of(std::string_view key) {
  for (std::string_view scheme : {"https://", "http://"})
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  // Docker Hub's historical names, and the version that clients of old put at the end.
  for (std::string_view end : {"/", "/v1", "/v2", "/"})
    if (key.ends_with(end)) key.remove_suffix(end.size());
  std::string out(key);
  for (std::string_view hub : {"index.docker.io", "registry-1.docker.io"})
    if (out == hub) out = "docker.io";
  return out;
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<RegistryLogin> login_of(const json::Value& entry) {
  RegistryLogin login{std::string(json::string_at(entry, {"username"})),
                      std::string(json::string_at(entry, {"password"}))};
  if (!login.user.empty()) return login;
  std::optional<std::string> both = base64_decode(json::string_at(entry, {"auth"}));
  std::size_t colon = both ? both->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return RegistryLogin{both->substr(0, colon), both->substr(colon + 1)};
}

}  // namespace

Result<void> RegistryLogins::add(std::string_view docker_config) {
  json::Value config = TRY(json::parse(docker_config));
  const json::Object* entries = json::object_at(config, {"auths"});
  if (!entries && config.is_object()) entries = &config.get_object();
  if (!entries) return fail(Code::invalid, "registry logins: expected a JSON object");
  for (const auto& [key, entry] : *entries)
    if (std::optional<RegistryLogin> login = login_of(entry))
      logins_.emplace_back(place_of({key.data(), key.size()}), std::move(*login));
  return {};
}

void RegistryLogins::add(const RegistryLogins& others) {
  logins_.insert(logins_.end(), others.logins_.begin(), others.logins_.end());
}

std::optional<RegistryLogin> RegistryLogins::find(const std::string& registry,
                                                  const std::string& repository) const {
  const std::pair<std::string, RegistryLogin>* best = nullptr;
  std::size_t best_length = 0;
  for (const auto& entry : logins_) {
    std::size_t slash = entry.first.find('/');
    std::string host = entry.first.substr(0, slash);
    std::string path = slash == std::string::npos ? "" : entry.first.substr(slash + 1);
    bool below = path.empty() || repository == path || repository.starts_with(path + "/");
    bool labels = std::ranges::count(host, '.') == std::ranges::count(registry, '.');
    if (!below || !labels || !matches_glob(host, registry)) continue;
    if (best && path.size() <= best_length) continue;
    best = &entry;
    best_length = path.size();
  }
  return best ? std::optional(best->second) : std::nullopt;
}

std::optional<AuthChallenge> parse_challenge(std::string_view header) {
  AuthChallenge out;
  std::size_t space = header.find(' ');
  out.scheme = ascii_lower(header.substr(0, space));
  if (out.scheme != "bearer" && out.scheme != "basic") return std::nullopt;
  std::string_view rest = space == std::string_view::npos ? "" : header.substr(space + 1);
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" ,\t"), rest.size()));
    std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) break;
    std::string name = ascii_lower(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    std::string value;
    if (rest.starts_with('"')) {
      std::size_t i = 1;
      for (; i < rest.size() && rest[i] != '"'; ++i) {
        if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
        value += rest[i];
      }
      rest.remove_prefix(std::min(i + 1, rest.size()));
    } else {
      std::size_t end = std::min(rest.find(','), rest.size());
      value = rest.substr(0, end);
      rest.remove_prefix(end);
    }
    out.parameters[name] = value;
  }
  return out;
}

}  // namespace hekla::agent
