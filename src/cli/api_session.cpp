#include "cli/api_session.h"

#include <future>
#include <iostream>
#include <iterator>

#include "base/disk.h"
#include "base/nearest.h"
#include "json/parse.h"
#include "json/yaml_lines.h"

namespace hekla::cli {
namespace {

Error error_from(const net::Response& response) {
  Result<json::Value> body = json::parse(response.body);
  if (body && json::string_at(*body, {"kind"}) == "Status")
    return Error{code_from(json::string_at(*body, {"reason"}), response.status),
                 std::string(json::string_at(*body, {"message"}))};
  // Services behind the API server's proxy have forms of their own.
  for (const char* member : {"message", "error_message"})
    if (const std::string_view said = body ? json::string_at(*body, {member}) : ""; !said.empty())
      return Error{code_from({}, response.status), std::string(said)};
  return Error{code_from({}, response.status),
               "the server answered " + std::to_string(response.status)};
}

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '[' || c == ']' || c == '_' || c == '-' || c == '/';
}

// The first path of a field in a message: unknown field "spec.a", spec.tasks[0].b: Invalid value.
std::string_view path_in(std::string_view message) {
  for (std::string_view root : {"spec", "metadata", "status", "data", "apiVersion", "kind"})
    for (std::size_t at = message.find(root); at != std::string_view::npos;
         at = message.find(root, at + 1)) {
      if (at > 0 && message[at - 1] != ' ' && message[at - 1] != '"') continue;
      std::size_t end = at;
      while (end < message.size() && is_path_character(message[end])) ++end;
      const std::string_view path = message.substr(at, end - at);
      if (path.find_first_of(".[") != std::string_view::npos) return path;
    }
  constexpr std::string_view kUnknown = "unknown field \"";
  if (const std::size_t at = message.find(kUnknown); at != std::string_view::npos) {
    const std::string_view rest = message.substr(at + kUnknown.size());
    return rest.substr(0, rest.find('"'));
  }
  return {};
}

// The hint: what else the server has under such a kind or version.
std::string kind_hint(ApiSession& session, const json::Value* served, const std::string& kind) {
  if (served) {
    std::vector<std::string> kinds;
    if (const json::Array* resources = json::array_at(*served, {"resources"}))
      for (const json::Value& resource : *resources)
        kinds.emplace_back(json::string_at(resource, {"kind"}));
    const std::string near = nearest_name(kind, kinds);
    return near.empty() ? "" : ", did you mean " + near + "?";
  }
  std::string versions;
  Result<json::Value> groups = session.call("GET", "/apis");
  const json::Array* list = groups ? json::array_at(*groups, {"groups"}) : nullptr;
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const std::string version(json::string_at((*list)[i], {"preferredVersion", "groupVersion"}));
    Result<json::Value> one = session.call("GET", "/apis/" + version);
    const json::Array* resources = one ? json::array_at(*one, {"resources"}) : nullptr;
    for (std::size_t j = 0; resources && j < resources->size(); ++j)
      if (json::string_at((*resources)[j], {"kind"}) == kind &&
          json::string_at((*resources)[j], {"name"}).find('/') == std::string_view::npos)
        versions += (versions.empty() ? "" : ", ") + version;
  }
  return versions.empty() ? "" : "; a " + kind + " is served as " + versions;
}

}  // namespace

std::string Manifest::place_of(std::string_view message) const {
  if (!text) return file;
  const std::string path = within + std::string(path_in(message));
  return file + ":" + std::to_string(json::yaml_line_of(*text, line, path));
}

Result<std::vector<Manifest>> read_manifests(const std::vector<std::string>& files) {
  std::vector<Manifest> manifests;
  for (const std::string& file : files) {
    std::string text;
    if (file == "-")
      text.assign(std::istreambuf_iterator<char>(std::cin), {});
    else
      text = TRY(read_file(file));
    auto documents = json::parse_yaml(text);
    if (!documents) return fail(Code::bad_request, file + ": " + documents.error().message);
    const auto whole = std::make_shared<const std::string>(std::move(text));
    for (json::YamlDocument& document : *documents) {
      const json::Array* items = json::array_at(document.value, {"items"});
      if (items && json::string_at(document.value, {"kind"}).ends_with("List")) {
        for (std::size_t i = 0; i < items->size(); ++i)
          manifests.push_back(
              {(*items)[i], file, document.line, whole, "items[" + std::to_string(i) + "]."});
        continue;
      }
      if (json::string_at(document.value, {"kind"}).empty() ||
          json::string_at(document.value, {"apiVersion"}).empty())
        return fail(Code::bad_request, file + ":" + std::to_string(document.line) +
                                           ": this document has no apiVersion and kind");
      manifests.push_back({std::move(document.value), file, document.line, whole, {}});
    }
  }
  return manifests;
}

Result<std::unique_ptr<ApiSession>> ApiSession::open(const kube::ClusterAccess& access) {
  auto session = std::make_unique<ApiSession>();
  session->access_ = access;
  session->http_ = TRY(net::Client::make(access.http));
  return session;
}

Result<json::Value> ApiSession::call(const std::string& method, const std::string& path,
                                     const std::string& body, const std::string& content_type,
                                     const std::string& accept) {
  net::ClientRequest request;
  request.method = method;
  request.url = access_.server + path;
  request.headers.add("Accept", accept.empty() ? "application/json" : accept);
  request.headers.add("User-Agent", "hekla");
  if (!body.empty()) request.headers.add("Content-Type", content_type);
  request.body = body;
  net::Response response = TRY(http_->fetch(std::move(request)));
  if (response.status >= 300) return std::unexpected(error_from(response));
  return json::parse(response.body);
}

Result<void> ApiSession::stream(const std::string& path, const std::string& accept,
                                const std::function<void(std::string_view)>& piece) {
  net::ClientRequest request;
  request.url = access_.server + path;
  request.headers.add("Accept", accept);
  request.headers.add("User-Agent", "hekla");
  request.timeout = std::chrono::milliseconds(0);
  auto status = std::make_shared<int>(0);
  auto refusal = std::make_shared<std::string>();
  auto ended = std::make_shared<std::promise<Result<void>>>();
  net::StreamCallbacks callbacks;
  callbacks.on_head = [status](int code, const net::Headers&) { *status = code; };
  callbacks.on_data = [status, refusal, piece](std::string_view data) {
    if (*status < 300)
      piece(data);
    else
      refusal->append(data);
  };
  callbacks.on_end = [ended](Result<void> outcome) { ended->set_value(std::move(outcome)); };
  std::unique_ptr<net::StreamHandle> handle = http_->stream(std::move(request), callbacks);
  TRY(ended->get_future().get());
  if (*status < 300) return {};
  net::Response response;
  response.status = *status;
  response.body = *refusal;
  return std::unexpected(error_from(response));
}

Result<kube::Resource> ApiSession::resource_of(const json::Value& object) {
  std::string api_version(json::string_at(object, {"apiVersion"}));
  std::string kind(json::string_at(object, {"kind"}));
  std::size_t slash = api_version.find('/');
  std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
  std::string version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  Result<json::Value> served = call("GET", (group.empty() ? "/api/" : "/apis/") + api_version);
  if (!served && served.error().code != Code::not_found) return std::unexpected(served.error());
  if (served)
    if (const json::Array* resources = json::array_at(*served, {"resources"}))
      for (const json::Value& resource : *resources) {
        std::string name(json::string_at(resource, {"name"}));
        if (json::string_at(resource, {"kind"}) == kind && name.find('/') == std::string::npos)
          return kube::Resource{group, version, name, kind,
                                json::bool_at(resource, {"namespaced"})};
      }
  return fail(Code::not_found, "no matches for kind \"" + kind + "\" in version \"" + api_version +
                                   "\"" + kind_hint(*this, served ? &*served : nullptr, kind));
}

std::string ApiSession::path_of(const kube::Resource& resource, const std::string& ns,
                                const std::string& name) {
  std::string path = (resource.group.empty() ? "/api/" : "/apis/") + resource.api_version();
  if (resource.namespaced) path += "/namespaces/" + net::url_encode(ns);
  path += "/" + resource.plural;
  if (!name.empty()) path += "/" + net::url_encode(name);
  return path;
}

}  // namespace hekla::cli
