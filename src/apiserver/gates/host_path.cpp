// The step looks at names, and through the links there are when it looks. A directory above a
// hidden one may still be mounted: `kubectl debug node/...` mounts the root, and whoever may do
// that has the machine. Namespaces where nobody shall are held to the standard "baseline".
#include "apiserver/gates/host_path.h"

#include <algorithm>
#include <filesystem>

#include "apiserver/text/errors.h"

namespace hekla::apiserver {
namespace {

namespace fs = std::filesystem;

bool lies_in(const std::string& path, const std::vector<std::string>& directories) {
  return std::ranges::any_of(directories, [&](const std::string& directory) {
    return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
  });
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

bool is_hidden(const HostPathOptions& options, std::string_view given, bool persistent) {
  if (given.empty()) return false;
  const fs::path named = fs::path(given).lexically_normal();
  std::error_code error;
  const fs::path real = fs::weakly_canonical(named, error);
  for (const fs::path& one : {named, error ? named : real}) {
    const std::string path = without_slash(one);
    if (lies_in(path, options.hidden) && !(persistent && lies_in(path, options.volumes)))
      return true;
  }
  return false;
}

Error refusal(const kube::AdmissionRequest& request, const std::string& field) {
  return forbidden_error(
      request.resource, request.key.name,
      field + ": Forbidden: the path belongs to Hekla itself and cannot be a volume");
}

Result<void> validate(const HostPathOptions& options, const kube::AdmissionRequest& request,
                      const json::Value& object) {
  if (request.resource.plural == "persistentvolumes") {
    for (std::string_view source : {"hostPath", "local"})
      if (is_hidden(options, json::string_at(object, {"spec", source, "path"}), true))
        return std::unexpected(refusal(request, "spec." + std::string(source) + ".path"));
    return {};
  }
  const json::Array* volumes = json::array_at(object, {"spec", "volumes"});
  for (std::size_t i = 0; volumes && i < volumes->size(); ++i)
    if (is_hidden(options, json::string_at((*volumes)[i], {"hostPath", "path"}), false))
      return std::unexpected(
          refusal(request, "spec.volumes[" + std::to_string(i) + "].hostPath.path"));
  return {};
}

}  // namespace

kube::AdmissionStep host_path_admission(HostPathOptions options) {
  std::error_code error;
  // Names as they are and as they really are: a data directory may itself be reached by a link.
  for (std::vector<std::string>* list : {&options.hidden, &options.volumes}) {
    const std::vector<std::string> given = std::exchange(*list, {});
    for (const std::string& one : given) {
      list->push_back(without_slash(fs::path(one).lexically_normal()));
      if (fs::path real = fs::weakly_canonical(one, error); !error)
        list->push_back(without_slash(real));
    }
  }
  auto concerns = [](const kube::Resource& resource, kube::Operation operation,
                     std::string_view subresource) {
    return operation == kube::Operation::create && subresource.empty() && resource.group.empty() &&
           (resource.plural == "pods" || resource.plural == "persistentvolumes");
  };
  return {"HostPathProtection", concerns, nullptr,
          [options = std::move(options)](const kube::AdmissionRequest& request,
                                         const json::Value& object) {
            return validate(options, request, object);
          }};
}

}  // namespace hekla::apiserver
