#include "agent/image/build/build_machine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent/network/pod_network.h"
#include "agent/os/files.h"
#include "agent/os/user_namespace.h"
#include "agent/rootless/netns_thread.h"
#include "agent/runtime/cgroup.h"
#include "base/crypto.h"
#include "base/disk.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLookPeriod{30};

// Prints what a log file in the CRI format has gained.
class LogTail {
 public:
  explicit LogTail(std::string path) : path_(std::move(path)) {}
  void print(const std::function<void(std::string_view)>& print) {
    if (!file_) file_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    char buffer[1 << 14];
    for (ssize_t n = 0; file_ && (n = ::read(file_.get(), buffer, sizeof buffer)) > 0;)
      pending_.append(buffer, static_cast<std::size_t>(n));
    std::size_t end = 0;
    while ((end = pending_.find('\n')) != std::string::npos) {
      std::string_view line = std::string_view(pending_).substr(0, end);
      // time stream tag text
      std::size_t at = line.find(' ');
      at = at == std::string_view::npos ? at : line.find(' ', at + 1);
      bool whole = at != std::string_view::npos && line.substr(at + 1, 1) == "F";
      at = at == std::string_view::npos ? at : line.find(' ', at + 1);
      if (at != std::string_view::npos)
        print(std::string(line.substr(at + 1)) + (whole ? "\n" : ""));
      pending_.erase(0, end + 1);
    }
  }

 private:
  std::string path_;
  FileDescriptor file_;
  std::string pending_;
};

}  // namespace

BuildMachine::BuildMachine(Private, InstancePaths paths, RuntimePrograms programs,
                           std::vector<std::string> hidden_paths)
    : paths_(std::move(paths)),
      host_(paths_, std::move(hidden_paths)),
      runtime_(paths_, std::move(programs)) {}

Result<std::unique_ptr<BuildMachine>> BuildMachine::open(const std::string& store_dir,
                                                         std::vector<std::string> hidden_paths) {
  const std::string place = store_dir + "/build";
  TRY(make_directories(place));
  auto machine = std::make_unique<BuildMachine>(Private{}, instance_paths(place),
                                                TRY(find_programs("", program_directories())),
                                                std::move(hidden_paths));
  machine->lock_ =
      FileDescriptor(::open((place + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!machine->lock_) return errno_error("open " + place + "/lock");
  if (::flock(machine->lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::conflict, "another image is being built from this data directory");
  // Remains of an earlier build that was killed go first.
  if (is_pinned_namespace(machine->paths_.mount_pin())) {
    machine->namespace_ = TRY(InstanceNamespace::open(machine->paths_));
    TRY(machine->namespace_->enter());
    TRY(machine->clean());
  }
  TRY(machine->prepare());
  return machine;
}

Result<void> BuildMachine::prepare() {
  namespace_ = TRY(InstanceNamespace::open(paths_));
  TRY(namespace_->enter());
  return host_.prepare();
}

Result<void> BuildMachine::clean() {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.crun_root(), error))
    TRY(runtime_.remove(entry.path().filename(), "", ""));
  for (const fs::directory_entry& entry : fs::directory_iterator(paths_.pods(), error))
    TRY(host_.unmount_root(entry.path()));
  TRY(remove_cgroup(paths_.cgroup()));
  TRY(namespace_->remove(paths_));
  namespace_.reset();
  for (const std::string& part : {paths_.pods(), paths_.exits()}) {
    fs::remove_all(part, error);
    if (error) return fail(Code::internal, "remove " + part + ": " + error.message());
  }
  return {};
}

BuildMachine::~BuildMachine() {
  if (!namespace_) return;
  if (Result<void> done = clean(); !done)
    log_warn("image", "clean up after a build", {{"error", done.error().message}});
}

Result<std::string> BuildMachine::mount(const ImageStore& store,
                                        const std::optional<StoredImage>& image, bool host) {
  const std::string bundle = paths_.pods() + "/" + std::to_string(bundles_.size());
  TRY(make_directories(bundle));
  bundles_.push_back(bundle);
  if (image) {
    const std::string base = image->host ? TRY(host_.mount_base(bundle)) : std::string();
    TRY(store.mount_root(*image, bundle, base));
  } else if (host) {
    const std::string base = TRY(host_.mount_base(bundle));
    StoredImage empty;
    empty.host = true;
    TRY(store.mount_root(empty, bundle, base));
  } else {
    // Upon nothing: an ordinary directory is the whole.
    TRY(make_directories(bundle + "/upper", 0755));
    TRY(make_directories(bundle + "/rootfs", 0755));
    if (::mount((bundle + "/upper").c_str(), (bundle + "/rootfs").c_str(), nullptr, MS_BIND,
                nullptr) != 0)
      return errno_error("bind " + bundle + "/upper");
  }
  return bundle;
}

Result<std::string> BuildMachine::scratch(const std::string& name) {
  const std::string place = paths_.pods() + "/scratch-" + sha256_hex(name).substr(0, 16);
  TRY(make_directories(place, 0755));
  return place;
}

Result<int> BuildMachine::run(const BuildCommand& command,
                              const std::function<void(std::string_view)>& print) {
  const std::string id = sha256_hex(paths_.name + std::to_string(++commands_));
  const std::string bundle = paths_.pods() + "/run-" + std::to_string(commands_);
  TRY(make_directories(bundle));
  BundleSpec spec;
  spec.args = command.args;
  spec.env = command.env;
  spec.cwd = command.cwd;
  spec.hostname = "build";
  spec.rootfs = command.rootfs;
  spec.cgroup = paths_.cgroup() + "/" + id;
  if (command.host) spec.mounts = host_.extra_mounts();
  for (const char* file : {"/etc/resolv.conf", "/etc/hosts"})
    if (::access(file, R_OK) == 0)
      spec.mounts.push_back({file, "none", file, {"bind", "rprivate", "ro"}});
  spec.mounts.insert(spec.mounts.end(), command.mounts.begin(), command.mounts.end());
  const std::string silence = bundle + "/netns";
  if (!command.network) {
    auto make = [&] { return PodNetwork::make_empty(silence); };
    TRY(is_rootless() ? TRY(NetnsThread::start(*namespace_))->run<void>(make) : make());
    spec.network_namespace = silence;
  }
  TRY(apply_image_user(command.user, command.rootfs, spec.security));
  const std::string log = bundle + "/log";
  Result<void> created =
      runtime_.create({id, bundle, log, oci_config(spec), false, false, false, 0});
  if (created) created = runtime_.start(id);
  LogTail tail(log);
  std::optional<ContainerExit> exit;
  while (created && !(exit = runtime_.exit_of(id, spec.cgroup))) {
    tail.print(print);
    if (!runtime_.is_monitored(id, bundle) && !(exit = runtime_.exit_of(id, spec.cgroup))) {
      created = fail(Code::internal, "the command's monitor has vanished");
      break;
    }
    if (command.cancelled && *command.cancelled) {
      created = fail(Code::unavailable, "cancelled");
      break;
    }
    ::poll(nullptr, 0, static_cast<int>(kLookPeriod.count()));
  }
  tail.print(print);
  TRY(runtime_.remove(id, bundle, spec.cgroup));
  if (!command.network) ::umount2(silence.c_str(), MNT_DETACH);
  if (!created) return std::unexpected(created.error());
  return exit->code;
}

}  // namespace hekla::agent
