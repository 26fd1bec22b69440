#include "controllers/job/plugin.h"

#include <charconv>

namespace hekla::controllers {
namespace {

json::Array& array_of(json::Object& object, std::string_view member) {
  json::Value& value = object[member];
  if (!value.is_array()) value = json::Array();
  return value.get_array();
}

bool has_member(const json::Array& array, std::string_view member, std::string_view value) {
  for (const json::Value& element : array)
    if (json::string_at(element, {member}) == value) return true;
  return false;
}

// The value of -name or --name, in one or two arguments; nullopt when absent. As in Go, whatever
// follows is the value, dashes or not (a private key begins with five); a switch takes no second
// argument and is "" without a value.
std::optional<std::string> find_argument(const std::vector<std::string>& arguments,
                                         std::string_view name, bool is_switch) {
  std::optional<std::string> found;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (!argument.starts_with('-')) continue;
    argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
    std::size_t equals = argument.find('=');
    if (argument.substr(0, equals) != name) continue;
    if (equals != std::string_view::npos)
      found = std::string(argument.substr(equals + 1));
    else if (is_switch)
      found = "";
    else if (i + 1 < arguments.size())
      found = arguments[++i];
  }
  return found;
}

}  // namespace

const JobPluginInfo* find_job_plugin(std::string_view name) {
  for (const JobPluginInfo* info : all_job_plugins())
    if (info->name == name) return info;
  return nullptr;
}

Result<std::vector<ActivePlugin>> make_plugins(const model::VcJobSpec& spec) {
  std::vector<ActivePlugin> active;
  for (const auto& [name, arguments] : spec.plugins) {
    const JobPluginInfo* info = find_job_plugin(name);
    if (!info) return fail(Code::invalid, "failed to get plugin " + name);
    active.push_back({name, info->make(arguments)});
  }
  return active;
}

std::string PluginArguments::text(std::string_view name, std::string otherwise) const {
  return find_argument(arguments_, name, false).value_or(std::move(otherwise));
}

std::int32_t PluginArguments::number(std::string_view name, std::int32_t otherwise) const {
  std::optional<std::string> found = find_argument(arguments_, name, false);
  if (!found) return otherwise;
  std::int32_t number = 0;
  auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), number);
  return error == std::errc() && end == found->data() + found->size() ? number : otherwise;
}

bool PluginArguments::flag(std::string_view name, bool otherwise) const {
  std::optional<std::string> found = find_argument(arguments_, name, true);
  if (!found) return otherwise;
  if (found->empty() || *found == "true" || *found == "1" || *found == "t" || *found == "T" ||
      *found == "TRUE" || *found == "True")
    return true;
  if (*found == "false" || *found == "0" || *found == "f" || *found == "F" || *found == "FALSE" ||
      *found == "False")
    return false;
  return otherwise;
}

void for_each_container(json::Value& pod, bool initialisers,
                        const std::function<void(json::Object& container)>& visit) {
  json::Value& containers =
      json::at_path(pod, {"spec", initialisers ? "initContainers" : "containers"});
  if (!containers.is_array()) {
    pod.get_object()["spec"].get_object().erase(initialisers ? "initContainers" : "containers");
    return;
  }
  for (json::Value& container : containers.get_array())
    if (container.is_object()) visit(container.get_object());
}

void set_env(json::Object& container, std::string_view name, json::Value value_or_source) {
  json::Array& env = array_of(container, "env");
  json::Object entry{{"name", name}};
  entry[value_or_source.is_object() ? "valueFrom" : "value"] = std::move(value_or_source);
  for (json::Value& existing : env)
    if (json::string_at(existing, {"name"}) == name) {
      existing = std::move(entry);
      return;
    }
  env.push_back(std::move(entry));
}

void add_mount(json::Object& container, json::Value mount) {
  json::Array& mounts = array_of(container, "volumeMounts");
  if (!has_member(mounts, "mountPath", json::string_at(mount, {"mountPath"})))
    mounts.push_back(std::move(mount));
}

void add_volume(json::Value& pod, json::Value volume) {
  json::Value& volumes = json::at_path(pod, {"spec", "volumes"});
  if (!volumes.is_array()) volumes = json::Array();
  if (!has_member(volumes.get_array(), "name", json::string_at(volume, {"name"})))
    volumes.get_array().push_back(std::move(volume));
}

void add_port(json::Object& container, std::string_view name, std::int32_t port) {
  json::Array& ports = array_of(container, "ports");
  for (const json::Value& existing : ports)
    if (json::string_at(existing, {"name"}) == name ||
        json::int_at(existing, {"containerPort"}) == port)
      return;
  ports.push_back(json::Object{{"name", name}, {"containerPort", port}, {"protocol", "TCP"}});
}

}  // namespace hekla::controllers
