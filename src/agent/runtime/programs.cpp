#include "agent/runtime/programs.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "agent/os/file_descriptor.h"
#include "agent/os/files.h"
#include "agent/os/process.h"
#include "agent/os/user_namespace.h"
#include "base/disk.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

std::optional<std::string> look_up(const std::string& name,
                                   const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    const std::string path = directory + "/" + name;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0)
      return path;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> program_directories() {
  std::vector<std::string> out{"/usr/local/sbin",
                               "/usr/local/bin",
                               "/usr/sbin",
                               "/usr/bin",
                               "/sbin",
                               "/bin",
                               "/usr/local/libexec/podman",
                               "/usr/libexec/podman",
                               "/usr/lib/podman",
                               "/usr/libexec/crio",
                               "/usr/lib/crio",
                               "/usr/lib/cri-o-runc/sbin"};
  // Programs that came with this one have been tried with it.
  if (!bundled_directory().empty()) out.insert(out.begin(), bundled_directory());
  return out;
}

Result<RuntimePrograms> find_programs(const std::string& runtime,
                                      const std::vector<std::string>& directories) {
  RuntimePrograms out;
  std::optional<std::string> monitor = look_up("conmon", directories);
  if (!monitor)
    return fail(Code::not_found, "running pods needs conmon: install it with apt install conmon");
  out.monitor = *monitor;
  // It alone can be told to leave control groups alone.
  const bool rootless = is_rootless();
  if (rootless && runtime.ends_with("runc"))
    return fail(Code::bad_request,
                "a rootless hekla runs pods with crun, not with runc: use --runtime crun or sudo");
  if (runtime.starts_with('/')) {
    if (::access(runtime.c_str(), X_OK) != 0)
      return fail(Code::not_found, "the runtime " + runtime + " cannot be run");
    out.runtime = runtime;
    return out;
  }
  if (!runtime.empty() && runtime != "crun" && runtime != "runc")
    return fail(Code::bad_request,
                "the runtime is crun, runc or an absolute path, not \"" + runtime + "\"");
  std::vector<std::string> names = {runtime};
  if (runtime.empty())
    names = rootless ? std::vector<std::string>{"crun"} : std::vector<std::string>{"crun", "runc"};
  for (const std::string& name : names)
    if (std::optional<std::string> found = look_up(name, directories)) {
      out.runtime = *found;
      return out;
    }
  const std::string wanted = runtime.empty() ? "crun" : runtime;
  return fail(Code::not_found, "running pods needs " + wanted +
                                   (runtime.empty() && !rootless ? " (or runc)" : "") +
                                   ": install it with apt install " + wanted);
}

Result<std::string> keep_runtime(const std::string& run_dir, const std::string& wanted) {
  const std::string file = run_dir + "/runtime";
  const std::string kept = read_file(file).value_or("");
  if (!kept.empty() && kept != wanted && ::access(kept.c_str(), X_OK) == 0) {
    log_warn("agent", "pods of an earlier start keep their runtime until all have ended",
             {{"runtime", kept}, {"wanted", wanted}});
    return kept;
  }
  TRY(replace_file(file, wanted, 0600));
  return wanted;
}

std::string bind_read_only(const std::string& runtime, const std::string& place) {
  ::umount2(place.c_str(), MNT_DETACH);  // of an earlier process: the program may be a new one
  FileDescriptor target(::open(place.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
  if (target && ::mount(runtime.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0) {
    if (::mount(nullptr, place.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0)
      return place;
    ::umount2(place.c_str(), MNT_DETACH);
  }
  return runtime;
}

}  // namespace hekla::agent
