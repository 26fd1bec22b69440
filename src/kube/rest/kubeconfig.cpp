// kubeconfig files, read the way kubectl reads them: data beside a file name wins, names are
// relative to the kubeconfig. What cannot be used (passwords, proxies) is an error that says so,
// not a surprise at the server.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/disk.h"
#include "json/parse.h"
#include "kube/rest/exec_credentials.h"
#include "kube/rest_client.h"

namespace hekla::kube {
namespace {

// One entry of a kubeconfig, and how to speak of it.
struct Section {
  const json::Value* value = nullptr;
  std::string name;  // "/home/u/.kube/config: user \"admin\""
  std::filesystem::path directory;

  std::string_view text(std::string_view field) const { return json::string_at(*value, {field}); }
  std::unexpected<Error> error(std::string_view field, const std::string& why) const {
    return fail(Code::bad_request, name + ": " + std::string(field) + ": " + why);
  }
  std::string path(std::string_view field) const {
    std::filesystem::path path(text(field));
    return path.is_absolute() ? path.string() : (directory / path).string();
  }
  // The content of `field`-data, or of the file that `field` names; empty when there is neither.
  Result<std::string> content(const std::string& field) const {
    std::string data_field = field + "-data";
    if (std::string_view data = text(data_field); !data.empty()) {
      std::optional<std::string> decoded = base64_decode(data);
      if (!decoded) return error(data_field, "not base64");
      return std::move(*decoded);
    }
    if (text(field).empty()) return std::string();
    Result<std::string> file = read_file(path(field));
    if (!file) return error(field, file.error().message);
    return file;
  }
};

struct ConfigFile {
  std::string path;
  json::Value value;
};

// The entry called `name` of the list `plural`, in its member `singular`: the first file that has
// it wins.
Result<Section> find_section(const std::vector<ConfigFile>& files, const std::string& plural,
                             const std::string& singular, std::string_view name) {
  const std::string what = singular + " \"" + std::string(name) + "\"";
  for (const ConfigFile& file : files)
    if (const json::Array* entries = json::array_at(file.value, {plural}))
      for (const json::Value& entry : *entries)
        if (const json::Value* value = json::find(entry, singular);
            json::string_at(entry, {"name"}) == name && value && value->is_object())
          return Section{value, file.path + ": " + what,
                         std::filesystem::path(file.path).parent_path()};
  return fail(Code::not_found, files.front().path + ": " + what + " does not exist");
}

Result<std::vector<ConfigFile>> read_config_files(const std::string& paths) {
  std::vector<ConfigFile> files;
  std::optional<Error> missing;
  for (std::size_t begin = 0; begin <= paths.size();) {
    const std::size_t end = std::min(paths.find(':', begin), paths.size());
    const std::string path = paths.substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;
    Result<std::string> text = read_file(path);
    if (!text) {
      if (text.error().code != Code::not_found) return std::unexpected(text.error());
      missing = text.error();
      continue;
    }
    Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(*text);
    if (!documents) return fail(Code::bad_request, path + ": " + documents.error().message);
    if (documents->empty()) return fail(Code::bad_request, path + ": the file is empty");
    files.push_back({path, std::move(documents->front().value)});
  }
  if (files.empty())
    return missing ? std::unexpected(std::move(*missing))
                   : fail(Code::bad_request, "no kubeconfig is named");
  return files;
}

Result<void> read_cluster(const Section& cluster, ClusterAccess& access) {
  access.server = cluster.text("server");
  if (access.server.empty()) return cluster.error("server", "missing");
  while (access.server.ends_with('/')) access.server.pop_back();
  if (!cluster.text("proxy-url").empty())
    return cluster.error("proxy-url", "proxies are not supported");
  access.http.ca_pem = TRY(cluster.content("certificate-authority"));
  access.http.insecure_skip_verify = json::bool_at(*cluster.value, {"insecure-skip-tls-verify"});
  access.http.tls_server_name = cluster.text("tls-server-name");
  return {};
}

// What a plugin is told of the cluster when it asks for that.
json::Value cluster_info(const Section& cluster, const ClusterAccess& access) {
  json::Object info{{"server", access.server}};
  if (!access.http.tls_server_name.empty())
    info.emplace("tls-server-name", access.http.tls_server_name);
  if (access.http.insecure_skip_verify) info.emplace("insecure-skip-tls-verify", true);
  if (!access.http.ca_pem.empty())
    info.emplace("certificate-authority-data", base64_encode(access.http.ca_pem));
  if (const json::Array* extensions = json::array_at(*cluster.value, {"extensions"}))
    for (const json::Value& one : *extensions)
      if (const json::Value* config = json::find(one, "extension");
          config && json::string_at(one, {"name"}) == "client.authentication.k8s.io/exec")
        info.emplace("config", *config);
  return info;
}

Result<void> read_user(const Section& user, const Section& cluster, ClusterAccess& access) {
  if (json::find(*user.value, "auth-provider"))
    return user.error("auth-provider", "such providers are gone from Kubernetes; use exec");
  if (!user.text("username").empty()) return user.error("username", "passwords are not supported");
  KeyPair pair;
  pair.certificate_pem = TRY(user.content("client-certificate"));
  pair.key_pem = TRY(user.content("client-key"));
  if (pair.certificate_pem.empty() != pair.key_pem.empty())
    return user.error(pair.key_pem.empty() ? "client-key" : "client-certificate",
                      "missing, the other half is there");
  if (!pair.key_pem.empty()) access.http.certificate = std::move(pair);
  access.http.bearer_token = user.text("token");
  if (!user.text("tokenFile").empty()) access.http.bearer_token_file = user.path("tokenFile");
  // As kubectl has it, a plugin is asked only where nothing else says who the user is.
  const json::Value* exec = json::find(*user.value, "exec");
  if (!exec || !exec->is_object() || access.http.certificate || !access.http.bearer_token.empty() ||
      !access.http.bearer_token_file.empty())
    return {};
  Result<ExecPlugin> plugin = read_exec_plugin(*exec, user.directory.string());
  if (!plugin) return user.error("exec", plugin.error().message);
  if (json::bool_at(*exec, {"provideClusterInfo"})) plugin->cluster = cluster_info(cluster, access);
  auto credentials = std::make_shared<ExecCredentials>(std::move(*plugin), real_clock());
  // A plugin that does not work should be heard of here, not as a 401 later on.
  if (Result<void> done = credentials->refresh(); !done)
    return fail(done.error().code, user.name + ": getting credentials: " + done.error().message);
  access.http.credentials = std::move(credentials);
  return {};
}

}  // namespace

Result<ClusterAccess> load_kubeconfig(const std::string& paths, const std::string& context) {
  const std::vector<ConfigFile> files = TRY(read_config_files(paths));
  std::string name = context;
  for (const ConfigFile& file : files)
    if (name.empty()) name = json::string_at(file.value, {"current-context"});
  if (name.empty())
    return fail(Code::bad_request, files.front().path + ": current-context: missing");
  Section chosen = TRY(find_section(files, "contexts", "context", name));
  if (chosen.text("cluster").empty()) return chosen.error("cluster", "missing");
  ClusterAccess access;
  if (!chosen.text("namespace").empty()) access.default_namespace = chosen.text("namespace");
  const Section cluster = TRY(find_section(files, "clusters", "cluster", chosen.text("cluster")));
  TRY(read_cluster(cluster, access));
  if (!chosen.text("user").empty())
    TRY(read_user(TRY(find_section(files, "users", "user", chosen.text("user"))), cluster, access));
  return access;
}

Result<ClusterAccess> in_cluster_access(const std::string& server, const std::string& directory) {
  ClusterAccess access;
  access.server = server;
  access.http.ca_pem = TRY(read_file(directory + "/ca.crt"));
  access.http.bearer_token_file = directory + "/token";
  TRY(read_file(access.http.bearer_token_file));  // a pod without a token should hear it here
  if (Result<std::string> ns = read_file(directory + "/namespace"); ns && !ns->empty()) {
    access.default_namespace = std::move(*ns);
    while (access.default_namespace.ends_with('\n')) access.default_namespace.pop_back();
  }
  return access;
}

std::string make_kubeconfig(const std::string& name, const std::string& server,
                            const std::string& ca_pem, const KeyPair& client) {
  auto entry = [&](const char* singular, json::Value content) {
    return json::Array{json::Object{{"name", name}, {singular, std::move(content)}}};
  };
  return json::to_yaml(json::Object{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters",
       entry("cluster", json::Object{{"server", server},
                                     {"certificate-authority-data", base64_encode(ca_pem)}})},
      {"users", entry("user", json::Object{{"client-certificate-data",
                                            base64_encode(client.certificate_pem)},
                                           {"client-key-data", base64_encode(client.key_pem)}})},
      {"contexts", entry("context", json::Object{{"cluster", name}, {"user", name}})},
      {"current-context", name}});
}

}  // namespace hekla::kube
