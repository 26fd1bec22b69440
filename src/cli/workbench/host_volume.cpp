#include "cli/workbench/host_volume.h"

#include <filesystem>

#include "cli/workbench/workbench.h"

namespace hekla::cli {

using json::Array;
using json::Object;
namespace fs = std::filesystem;

Result<void> add_host_volume(ApiSession& session, const HostVolume& wanted) {
  std::error_code error;
  const fs::path directory = fs::canonical(wanted.directory, error);
  if (error) return fail(Code::not_found, wanted.directory + ": " + error.message());
  if (!fs::is_directory(directory))
    return fail(Code::bad_request, wanted.directory + " is not a directory");
  const fs::space_info space = fs::space(directory, error);
  constexpr std::uintmax_t kGi = std::uintmax_t{1} << 30;
  const std::string size =
      std::to_string(error ? 1 : std::max<std::uintmax_t>(1, space.capacity / kGi)) + "Gi";
  const Object storage{{"storage", size}};
  const Array modes{wanted.read_only ? "ReadOnlyMany" : "ReadWriteMany"};
  const std::string volume = wanted.ns + "-" + wanted.name;
  TRY(create_one(
      session, kube::resources::persistent_volumes, "",
      Object{{"metadata", Object{{"name", volume}}},
             {"spec",
              Object{{"capacity", storage},
                     {"accessModes", modes},
                     {"persistentVolumeReclaimPolicy", "Retain"},
                     {"storageClassName", ""},
                     {"hostPath", Object{{"path", directory.string()}, {"type", "Directory"}}},
                     {"claimRef", Object{{"namespace", wanted.ns}, {"name", wanted.name}}}}}}));
  Result<void> claimed =
      create_one(session, kube::resources::persistent_volume_claims, wanted.ns,
                 Object{{"metadata", Object{{"name", wanted.name}}},
                        {"spec", Object{{"accessModes", modes},
                                        {"storageClassName", ""},
                                        {"volumeName", volume},
                                        {"resources", Object{{"requests", storage}}}}}});
  if (claimed) return {};
  // A volume without its claim would be in the way of the next attempt.
  if (Result<void> undone = delete_one(session, kube::resources::persistent_volumes, {"", volume});
      !undone)
    return fail(claimed.error().code, claimed.error().message + "; persistentvolume " + volume +
                                          " is left behind: " + undone.error().message);
  return claimed;
}

}  // namespace hekla::cli
