#include "cli/status/merged_kubeconfig.h"

#include <filesystem>

#include "base/disk.h"
#include "cli/platform_choice.h"
#include "cli/up_options.h"
#include "json/parse.h"

namespace hekla::cli {
namespace {

Result<json::Value> read_config(const std::string& text) {
  std::vector<json::YamlDocument> documents = TRY(json::parse_yaml(text));
  if (documents.empty()) return json::Value(json::Object{{"apiVersion", "v1"}, {"kind", "Config"}});
  if (!documents[0].value.is_object()) return fail(Code::bad_request, "it is no kubeconfig");
  return std::move(documents[0].value);
}

// Replaces the entry of this name in a list such as "clusters", or adds it.
void put(json::Value& config, const char* list, const char* member, const std::string& name,
         json::Value content) {
  json::Value& place = config.as_object()[list];
  if (!place.is_array()) place = json::Array();
  json::Object entry{{"name", name}};
  entry[member] = std::move(content);
  for (json::Value& one : place.get_array())
    if (json::string_at(one, {"name"}) == name) {
      one = std::move(entry);
      return;
    }
  place.get_array().push_back(std::move(entry));
}

Result<json::Value> first_of(const json::Value& config, const char* list, const char* member) {
  const json::Array* all = json::array_at(config, {list});
  const json::Value* content = all && !all->empty() ? json::find(all->front(), member) : nullptr;
  if (!content) return fail(Code::internal, std::string("the kubeconfig has no ") + list);
  return *content;
}

}  // namespace

std::string context_name(const std::string& data_dir) {
  if (data_dir == default_data_dir()) return "hekla";
  return "hekla-" + std::filesystem::path(data_dir).filename().string();
}

Result<std::string> merged_kubeconfig(const std::string& into, const std::string& from,
                                      const std::string& name) {
  json::Value config = TRY(read_config(into));
  const json::Value ours = TRY(read_config(from));
  put(config, "clusters", "cluster", name, TRY(first_of(ours, "clusters", "cluster")));
  put(config, "users", "user", name, TRY(first_of(ours, "users", "user")));
  put(config, "contexts", "context", name, json::Object{{"cluster", name}, {"user", name}});
  if (json::string_at(config, {"current-context"}).empty())
    config.get_object()["current-context"] = name;
  return json::to_yaml(config);
}

Result<Merged> merge_into_users_kubeconfig(const std::string& kubeconfig,
                                           const std::string& data_dir) {
  const PlatformSurroundings around = PlatformSurroundings::of_process();
  Merged merged;
  merged.file = around.kubeconfig.substr(0, around.kubeconfig.find(':'));
  if (merged.file.empty()) merged.file = around.home + "/.kube/config";
  merged.context = context_name(data_dir);
  // The platform's own file has its context already.
  if (merged.file == kubeconfig)
    return fail(Code::bad_request, "KUBECONFIG is " + kubeconfig +
                                       " itself; unset it to merge "
                                       "into ~/.kube/config");
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(merged.file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  Result<std::string> before = read_file(merged.file);
  if (!before && before.error().code != Code::not_found) return std::unexpected(before.error());
  Result<std::string> text =
      merged_kubeconfig(before.value_or(""), TRY(read_file(kubeconfig)), merged.context);
  if (!text) return fail(text.error().code, merged.file + ": " + text.error().message);
  TRY(write_file_atomically(merged.file, *text, 0600));
  Result<json::Value> after = read_config(*text);
  merged.is_current = after && json::string_at(*after, {"current-context"}) == merged.context;
  return merged;
}

}  // namespace hekla::cli
