#include "controllers/volcano/job/plugin.h"

#include <charconv>

namespace hekla::controllers {
namespace {

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

Result<std::vector<ActivePlugin>> make_plugins(const model::VcJobSpec& spec,
                                               const PluginDefaults& defaults) {
  std::vector<ActivePlugin> active;
  for (const auto& [name, arguments] : spec.plugins) {
    const JobPluginInfo* info = find_job_plugin(name);
    if (!info) return fail(Code::invalid, "failed to get plugin " + name);
    std::vector<std::string> all;
    if (auto found = defaults.find(name); found != defaults.end()) all = found->second;
    all.insert(all.end(), arguments.begin(), arguments.end());
    active.push_back({name, info->make(all)});
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

}  // namespace hekla::controllers
