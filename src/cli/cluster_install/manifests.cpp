#include "cli/cluster_install/manifests.h"

#include "cli/cluster_install/deployed_files.h"
#include "controllers/crds.h"
#include "json/parse.h"

namespace hekla::cli {
namespace {

constexpr const char* kDefaultNamespace = "hekla-system";

Result<std::vector<json::Value>> parse_objects(std::string_view yaml) {
  std::vector<json::Value> out;
  for (json::YamlDocument& document : TRY(json::parse_yaml(yaml)))
    if (document.value.is_object()) out.push_back(std::move(document.value));
  return out;
}

// The namespace is named in metadata, in subjects and in the namespace itself, always as a whole.
void rename(json::Value& value, const std::string& from, const std::string& to) {
  if (value.is_string() && json::sv(value.get_string()) == from) {
    value = to;
  } else if (value.is_object()) {
    for (auto& member : value.get_object()) rename(member.value(), from, to);
  } else if (value.is_array()) {
    for (json::Value& item : value.get_array()) rename(item, from, to);
  }
}

void set_image(json::Value& object, const std::string& image) {
  if (!json::array_at(object, {"spec", "template", "spec", "containers"})) return;
  json::Value& containers = json::at_path(object, {"spec", "template", "spec", "containers"});
  for (json::Value& container : containers.get_array()) container.get_object()["image"] = image;
}

}  // namespace

Result<std::vector<json::Value>> definitions() {
  std::vector<json::Value> out;
  for (std::string_view yaml : controllers::crd_yamls())
    for (json::Value& object : TRY(parse_objects(yaml))) out.push_back(std::move(object));
  return out;
}

Result<std::vector<json::Value>> objects_of(const Installed& installed) {
  std::vector<json::Value> out = TRY(parse_objects(base_manifest()));
  for (json::Value& object : out) {
    rename(object, kDefaultNamespace, installed.ns);
    set_image(object, installed.image);
  }
  return out;
}

}  // namespace hekla::cli
