#include "cli/cluster.h"

#include <algorithm>

#include "cli/instance.h"
#include "cli/platform_choice.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

bool is_called(const json::Value& resource, const std::string& name) {
  if (json::string_at(resource, {"name"}) == name ||
      json::string_at(resource, {"singularName"}) == name ||
      lowered(json::string_at(resource, {"kind"})) == name)
    return true;
  const json::Array* shorts = json::array_at(resource, {"shortNames"});
  return shorts && std::any_of(shorts->begin(), shorts->end(), [&](const json::Value& one) {
           return one.is_string() && json::sv(one.get_string()) == name;
         });
}

Result<std::optional<kube::Resource>> find_in(ApiSession& session, const std::string& group,
                                              const std::string& version, const std::string& name) {
  std::string path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  Result<json::Value> served = session.call("GET", path);
  if (!served && served.error().code == Code::not_found) return std::optional<kube::Resource>();
  if (!served) return std::unexpected(served.error());
  if (const json::Array* resources = json::array_at(*served, {"resources"}))
    for (const json::Value& one : *resources) {
      std::string plural(json::string_at(one, {"name"}));
      if (plural.find('/') != std::string::npos || !is_called(one, name)) continue;
      return std::optional(kube::Resource{group, version, plural,
                                          std::string(json::string_at(one, {"kind"})),
                                          json::bool_at(one, {"namespaced"})});
    }
  return std::optional<kube::Resource>();
}

}  // namespace

std::vector<Flag> cluster_flags(ClusterFlags& flags) {
  return {
      Flag("-k,--kubeconfig", flags.kubeconfig,
           "the cluster and how to log in (default: $KUBECONFIG, the platform that runs on this "
           "machine, ~/.kube/config)"),
      Flag("-s,--master", flags.master, "URL of the API server"),
      Flag("--data-dir", flags.data_dir, "of the local platform to talk to"),
  };
}

Result<std::unique_ptr<ApiSession>> connect(const ClusterFlags& flags) {
  const PlatformChoice choice =
      TRY(choose_platform({flags.kubeconfig, flags.data_dir}, LocalPlatform::must_run));
  const bool rests = !choice.data_dir.empty() && !find_instance(choice.data_dir);
  if (rests && flags.master.empty())
    return fail(Code::unavailable, "no platform runs in " + choice.data_dir +
                                       ": start it with hekla up, or name a cluster with "
                                       "--kubeconfig");
  Result<kube::ClusterAccess> access = kube::load_kubeconfig(choice.kubeconfig);
  if (!access && rests && access.error().code == Code::not_found) access = kube::ClusterAccess();
  if (!access) return std::unexpected(access.error());
  if (!flags.master.empty()) access->server = flags.master;
  return ApiSession::open(*access);
}

std::function<int()> on_cluster(const ClusterFlags& flags,
                                std::function<Result<void>(ApiSession&)> work) {
  return [&flags, work = std::move(work)] {
    Result<std::unique_ptr<ApiSession>> session = connect(flags);
    Result<void> done = session ? work(**session) : std::unexpected(session.error());
    if (done) return 0;
    complain(done.error().message);
    if (!session && session.error().code == Code::bad_request) return kUsage;
    return done.error().code == Code::unavailable ? kUnreachable : kFailed;
  };
}

Result<std::vector<json::Value>> list_objects(ApiSession& session, const kube::Resource& resource,
                                              bool optional) {
  std::string path = (resource.group.empty() ? "/api/" : "/apis/") + resource.api_version() + "/" +
                     resource.plural;
  Result<json::Value> list = session.call("GET", path);
  if (!list) {
    bool tolerable = list.error().code == Code::not_found || list.error().code == Code::forbidden;
    if (optional && tolerable) return std::vector<json::Value>{};
    return fail(list.error().code, "list " + resource.plural + ": " + list.error().message);
  }
  std::vector<json::Value> objects;
  if (const json::Array* items = json::array_at(*list, {"items"}))
    for (const json::Value& item : *items) {
      json::Value object = item;
      object.as_object()["apiVersion"] = resource.api_version();
      object.as_object()["kind"] = resource.kind;
      objects.push_back(std::move(object));
    }
  return objects;
}

Result<kube::Resource> find_resource(ApiSession& session, const std::string& given) {
  std::string name = lowered(given);
  std::size_t dot = name.find('.');
  std::string wanted_group = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (dot != std::string::npos) name.erase(dot);
  if (wanted_group.empty())
    if (auto found = TRY(find_in(session, "", "v1", name))) return *found;
  json::Value groups = TRY(session.call("GET", "/apis"));
  const json::Array* list = json::array_at(groups, {"groups"});
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    std::string group(json::string_at((*list)[i], {"name"}));
    std::string version(json::string_at((*list)[i], {"preferredVersion", "version"}));
    if (!wanted_group.empty() && group != wanted_group && version + "." + group != wanted_group)
      continue;
    if (auto found = TRY(find_in(session, group, version, name))) return *found;
  }
  return fail(Code::not_found,
              "the server doesn't have a resource type \"" + std::string(given) + "\"");
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

std::string cell_text(const json::Value& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return std::string(json::sv(cell.get_string()));
  return json::serialize(cell);
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 3, ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace hekla::cli
