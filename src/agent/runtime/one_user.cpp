#include "agent/runtime/one_user.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace hekla::agent {
namespace {

bool has_namespace(const json::Value& config, std::string_view type) {
  const json::Array* all = json::array_at(config, {"linux", "namespaces"});
  return all && std::ranges::any_of(*all, [&](const json::Value& one) {
           return json::string_at(one, {"type"}) == type;
         });
}

// The kernel mounts for a user only what belongs to a namespace of his own, with an owner that he
// knows.
void adapt_mounts(json::Value& config) {
  if (!json::array_at(config, {"mounts"})) return;
  const bool own_processes = has_namespace(config, "pid"),
             own_queues = has_namespace(config, "ipc");
  json::Array kept;
  for (const json::Value& one : *json::array_at(config, {"mounts"})) {
    json::Value mount = one;
    const std::string type(json::string_at(mount, {"type"}));
    if (type == "mqueue" && !own_queues) continue;
    if (type == "cgroup") continue;  // none is ours, and the runtime would look for them
    if (type == "proc" && !own_processes) {
      mount.as_object()["type"] = "none";
      mount.as_object()["source"] = "/proc";
      json::at_path(mount, {"options"}) = json::Array{"rbind", "nosuid", "noexec", "nodev"};
    }
    // Mounts below the host's may not be uncovered; its control groups are covered
    // already.
    if (json::string_at(mount, {"source"}) == "/sys" && json::array_at(mount, {"options"}))
      std::ranges::replace(json::at_path(mount, {"options"}).as_array(), json::Value("bind"),
                           json::Value("rbind"));
    if (type == "devpts" && json::array_at(mount, {"options"})) {
      json::Array& options = json::at_path(mount, {"options"}).as_array();
      auto owner = std::ranges::find(options, json::Value("gid=5"));
      if (owner != options.end()) options.erase(owner);
    }
    kept.push_back(std::move(mount));
  }
  config.as_object()["mounts"] = std::move(kept);
}

// As paths in that root.
std::vector<std::string> mounts_below(std::string_view mountinfo, std::string_view root) {
  std::vector<std::string> out;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string word, point;
    fields >> word >> word >> word >> word >> point;
    if (point.size() > root.size() && point.starts_with(root) && point[root.size()] == '/')
      out.push_back(point.substr(root.size()));
  }
  return out;
}

}  // namespace

void adapt_to_one_user(json::Value& config, std::string_view mountinfo) {
  json::Object& section = json::at_path(config, {"linux"}).as_object();
  section.erase("resources");
  section.erase("cgroupsPath");
  // Groups are fixed for good where an ordinary user has made the namespace.
  if (json::object_at(config, {"process", "user"}))
    json::at_path(config, {"process", "user"}).as_object().erase("additionalGids");
  adapt_mounts(config);
  if (!json::bool_at(config, {"root", "readonly"})) return;
  json::Value& paths = section["readonlyPaths"];
  if (!paths.is_array()) paths = json::Array();
  for (const std::string& point :
       mounts_below(mountinfo, json::string_at(config, {"root", "path"})))
    paths.as_array().emplace_back(point);
}

std::optional<std::string> missing_user(const Security& security, bool rootless) {
  if (!rootless || (security.uid == 0 && security.gid == 0)) return std::nullopt;
  return "container wants to run as user " + std::to_string(security.uid) + " and group " +
         std::to_string(security.gid) +
         ", and a rootless hekla has one of each, 0, which is the user who started it: leave out "
         "runAsUser and "
         "runAsGroup, use an image without USER, or start hekla with sudo";
}

}  // namespace hekla::agent
