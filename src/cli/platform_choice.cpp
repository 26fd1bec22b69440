#include "cli/platform_choice.h"

#include <pwd.h>
#include <unistd.h>

#include <filesystem>

#include "base/environment.h"
#include "cli/instance.h"
#include "cli/up_options.h"
#include "kube/rest_client.h"

namespace hekla::cli {
namespace {

constexpr const char* kAdminFile = "admin.kubeconfig";

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Address and authority decide: a copy of a kubeconfig is as good as the file itself, and another
// cluster at the address that a platform once had is another cluster.
bool is_same_platform(const std::string& one, const std::string& other) {
  Result<kube::ClusterAccess> first = kube::load_kubeconfig(one);
  Result<kube::ClusterAccess> second = kube::load_kubeconfig(other);
  return first && second && first->server == second->server &&
         first->http.ca_pem == second->http.ca_pem;
}

PlatformChoice platform_of(const std::string& data_dir) {
  return {data_dir + "/" + kAdminFile, data_dir};
}

// A kubeconfig that lies in a data directory, or is a copy of the default one's, names that
// platform.
PlatformChoice named_by(const std::string& kubeconfig, const PlatformSurroundings& around) {
  const std::filesystem::path file(kubeconfig);
  if (file.filename() == kAdminFile && is_there(file.parent_path() / "lock"))
    return {kubeconfig, file.has_parent_path() ? file.parent_path().string() : "."};
  if (is_same_platform(kubeconfig, platform_of(around.data_dir).kubeconfig))
    return {kubeconfig, around.data_dir};
  return {kubeconfig, ""};
}

}  // namespace

PlatformSurroundings PlatformSurroundings::of_process() {
  PlatformSurroundings around;
  around.kubeconfig = environment_variable("KUBECONFIG");
  around.home = environment_variable("HOME");
  if (const passwd* user = ::getpwuid(::geteuid()); user && around.home.empty())
    around.home = user->pw_dir;
  around.data_dir = default_data_dir();
  return around;
}

Result<PlatformChoice> choose_platform(const PlatformFlags& flags, LocalPlatform local,
                                       const PlatformSurroundings& around) {
  if (!flags.kubeconfig.empty() && !flags.data_dir.empty()) {
    if (!is_same_platform(flags.kubeconfig, platform_of(flags.data_dir).kubeconfig))
      return fail(Code::bad_request, "--kubeconfig " + flags.kubeconfig + " and --data-dir " +
                                         flags.data_dir +
                                         " name two different platforms: give one of them");
    return PlatformChoice{flags.kubeconfig, flags.data_dir};
  }
  if (!flags.kubeconfig.empty()) return named_by(flags.kubeconfig, around);
  if (!flags.data_dir.empty()) return platform_of(flags.data_dir);
  if (!around.kubeconfig.empty()) return named_by(around.kubeconfig, around);
  const std::string usual = around.home + "/.kube/config";
  if (local == LocalPlatform::must_run && !find_instance(around.data_dir) && is_there(usual))
    return PlatformChoice{usual, ""};
  return platform_of(around.data_dir);
}

Result<std::string> choose_data_dir(const std::string& flag, const PlatformSurroundings& around) {
  PlatformChoice choice = TRY(choose_platform({.data_dir = flag}, LocalPlatform::may_rest, around));
  if (choice.data_dir.empty())
    return fail(Code::bad_request, "KUBECONFIG (" + choice.kubeconfig +
                                       ") names a cluster that is not one of this machine's data "
                                       "directories: say which is meant, such as --data-dir " +
                                       around.data_dir);
  return choice.data_dir;
}

Flag chosen_data_dir_flag(std::string& data_dir) {
  return Flag("--data-dir", data_dir,
              "the platform's data directory (default: that of $KUBECONFIG, else /var/lib/hekla, "
              "without root ~/.local/share/hekla)");
}

}  // namespace hekla::cli
