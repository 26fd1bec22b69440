#include "agent/volumes/volume_store.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent/os/file_descriptor.h"
#include "agent/os/instance.h"
#include "agent/os/user_namespace.h"
#include "agent/volumes/group_ownership.h"
#include "agent/volumes/sub_path.h"
#include "base/crypto.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr long kTmpfsMagic = 0x01021994;
constexpr mode_t kSharedDirectory = 0777;

Result<void> set_group(const std::string& path, std::optional<std::uint32_t> group) {
  if (group && change_owner(AT_FDCWD, path.c_str(), static_cast<uid_t>(-1), *group,
                            AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error("chown " + path);
  return {};
}

// World-writable as in Kubernetes: the containers' users are not known here.
Result<void> open_to_all(const std::string& path, std::optional<std::uint32_t> group) {
  TRY(set_group(path, group));
  mode_t mode = kSharedDirectory | (group ? S_ISGID : 0);
  if (::chmod(path.c_str(), mode) != 0) return errno_error("chmod " + path);
  return {};
}

bool is_tmpfs(const std::string& path) {
  struct statfs info{};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == kTmpfsMagic;
}

Result<void> lay_out_memory(const std::string& directory, const VolumePlan& plan) {
  std::error_code error;
  if (!is_tmpfs(directory) || is_tmpfs(fs::path(directory).parent_path())) {
    std::string options = "mode=0777";
    if (plan.size_limit_bytes) options += ",size=" + std::to_string(*plan.size_limit_bytes);
    if (::mount("hekla-volume", directory.c_str(), "tmpfs", MS_NODEV | MS_NOSUID,
                options.c_str()) != 0)
      return errno_error("mount a tmpfs at " + directory);
  }
  return open_to_all(directory, plan.group);
}

Result<void> check_host_path(const VolumePlan& plan) {
  const std::string& path = plan.host_path;
  const std::string& type = plan.host_path_type;
  auto failure = [&](const std::string& why) {
    return fail(Code::invalid,
                "MountVolume.SetUp failed for volume \"" + plan.name + "\" : " + why);
  };
  std::error_code error;
  if (type == "DirectoryOrCreate") {
    if (!fs::exists(path, error)) TRY(make_directories(path, 0755));
  } else if (type == "FileOrCreate" && !fs::exists(path, error)) {
    FileDescriptor file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    if (!file) return errno_error("create " + path);
  }
  bool directory = fs::is_directory(path, error), file = fs::is_regular_file(path, error);
  if (type.starts_with("Directory") && !directory)
    return failure("hostPath type check failed: " + path + " is not a directory");
  if (type.starts_with("File") && !file)
    return failure("hostPath type check failed: " + path + " is not a file");
  if (!fs::exists(path, error)) {
    // Without a type the container runtime makes a missing directory, as Docker always did.
    if (!type.empty()) return failure("hostPath type check failed: " + path + " does not exist");
    TRY(make_directories(path, 0755));
  }
  return {};
}

Result<void> prepare_claim(const VolumePlan& plan) {
  if (!plan.must_exist) return make_directories(plan.host_path, 0755);
  std::error_code error;
  if (fs::exists(plan.host_path, error)) return {};
  return fail(Code::invalid, "MountVolume.NewMounter initialization failed for volume \"" +
                                 plan.name + "\" : path \"" + plan.host_path + "\" does not exist");
}

std::string payload_name(const std::vector<VolumeFile>& files) {
  std::string all;
  for (const VolumeFile& file : files) {
    all += file.path + '\0' + std::to_string(file.mode) + '\0' +
           std::to_string(file.content.size()) + '\0' + file.content;
  }
  return "..payload_" + sha256_hex(all).substr(0, 16);
}

Result<void> write_one(const std::string& root, const VolumeFile& file,
                       std::optional<std::uint32_t> group) {
  std::string path = root + "/" + file.path;
  TRY(make_directories(fs::path(path).parent_path().string(), 0755));
  FileDescriptor out(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  if (!out) return errno_error("create " + path);
  for (std::size_t done = 0; done < file.content.size();) {
    ssize_t n = ::write(out.get(), file.content.data() + done, file.content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("write " + path);
    done += static_cast<std::size_t>(n);
  }
  TRY(set_group(path, group));
  mode_t mode = static_cast<mode_t>(file.mode & 07777) | (group ? 0440 : 0);
  if (::fchmod(out.get(), mode) != 0) return errno_error("chmod " + path);
  return {};
}

std::string top_of(const std::string& path) { return path.substr(0, path.find('/')); }

// Beside the link to a claim that may only be read; no volume's name has a dot.
constexpr const char* kReadOnlyMark = ".ro";

Result<void> replace_link(const std::string& target, const std::string& path) {
  std::string temporary = path + "_tmp";
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) return errno_error("link " + temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return errno_error("link " + path);
  return {};
}

}  // namespace

Result<void> write_files(const std::string& directory, const std::vector<VolumeFile>& files,
                         std::optional<std::uint32_t> group) {
  const std::string payload = payload_name(files);
  std::error_code error;
  const fs::path current = fs::read_symlink(directory + "/..data", error);
  if (!error && current == payload) return {};
  const std::string root = directory + "/" + payload;
  fs::remove_all(root, error);  // what a crash left half-written
  TRY(make_directories(root, 0755));
  for (const VolumeFile& file : files) TRY(write_one(root, file, group));
  TRY(replace_link(payload, directory + "/..data"));
  std::set<std::string> wanted;
  for (const VolumeFile& file : files) wanted.insert(top_of(file.path));
  for (const std::string& name : wanted)
    if (!fs::is_symlink(directory + "/" + name, error))
      TRY(replace_link("..data/" + name, directory + "/" + name));
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    std::string name = entry.path().filename();
    if (name == "..data" || name == payload || wanted.contains(name)) continue;
    fs::remove_all(entry.path(), error);
  }
  return {};
}

VolumeSources volume_sources_of(const model::Pod& pod, const std::string& volumes_dir) {
  VolumeSources sources;
  for (const json::Value& volume : pod.spec.volumes) {
    const std::string name(json::string_at(volume, {"name"}));
    if (json::find(volume, "hostPath")) {
      sources[name] = {std::string(json::string_at(volume, {"hostPath", "path"})), false};
      continue;
    }
    if (json::find(volume, "persistentVolumeClaim")) {
      const std::string place = volumes_dir + "/" + name;
      std::error_code error;
      sources[name] = {place, json::bool_at(volume, {"persistentVolumeClaim", "readOnly"}) ||
                                  fs::is_symlink(place + kReadOnlyMark, error)};
      continue;
    }
    bool files = json::find(volume, "configMap") || json::find(volume, "secret") ||
                 json::find(volume, "downwardAPI") || json::find(volume, "projected");
    sources[name] = {volumes_dir + "/" + name, files};
  }
  return sources;
}

Result<void> lay_out_volumes(const std::string& volumes_dir, const std::vector<VolumePlan>& plans) {
  for (const VolumePlan& plan : plans) {
    const std::string directory = volumes_dir + "/" + plan.name;
    bool own = plan.kind != VolumePlan::Kind::host_path && plan.kind != VolumePlan::Kind::claim;
    if (own) TRY(make_directories(directory, 0755));
    switch (plan.kind) {
      case VolumePlan::Kind::host_path:
        TRY(check_host_path(plan));
        break;
      case VolumePlan::Kind::claim:
        TRY(prepare_claim(plan));
        // As in Kubernetes not for volumes that are a hostPath of somebody else's.
        if ((plan.provisioned || plan.must_exist) && plan.group)
          TRY(give_to_group(plan.host_path, *plan.group, plan.group_on_mismatch));
        TRY(make_directories(volumes_dir));
        TRY(replace_link(plan.host_path, directory));
        if (plan.read_only) TRY(replace_link(plan.name, directory + kReadOnlyMark));
        break;
      case VolumePlan::Kind::files:
        TRY(write_files(directory, plan.files, plan.group));
        break;
      case VolumePlan::Kind::memory:
        TRY(lay_out_memory(directory, plan));
        break;
      case VolumePlan::Kind::directory:
        TRY(open_to_all(directory, plan.group));
        break;
    }
  }
  return {};
}

Result<std::vector<OciMount>> volume_mounts(const model::Container& container,
                                            const VolumeSources& sources, const std::string& pins) {
  std::vector<OciMount> mounts;
  for (const model::VolumeMount& mount : container.volumeMounts) {
    auto found = sources.find(mount.name);
    if (found == sources.end())
      return fail(Code::invalid, "volume \"" + mount.name + "\" of container \"" + container.name +
                                     "\" does not exist");
    std::string source = found->second.path;
    // A claim's place is remembered as a link, and hosts have links of their own (/bin); sub-paths
    // are judged below what they point to.
    std::error_code error;
    if (fs::is_symlink(source, error)) {
      fs::path real = fs::canonical(source, error);
      if (error)
        return fail(Code::invalid,
                    "volume \"" + mount.name + "\": " + source + ": " + error.message());
      source = real;
    }
    if (!mount.subPath.empty()) {
      const std::string place = pins + "/" + std::to_string(mounts.size());
      TRY(pin(TRY(open_sub_path(source, mount.subPath)), place));
      source = place;
    }
    bool read_only = mount.readOnly || found->second.read_only;
    mounts.push_back(
        {mount.mountPath, "none", source, {"rbind", "rprivate", read_only ? "ro" : "rw"}});
  }
  return mounts;
}

Result<void> remove_volumes(const std::string& volumes_dir) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(volumes_dir, error)) {
    // Only memory volumes are mounts of ours; for the others this says EINVAL.
    if (::umount2(entry.path().c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL)
      return errno_error("unmount " + entry.path().string());
  }
  fs::remove_all(volumes_dir, error);
  if (error) return fail(Code::internal, "remove " + volumes_dir + ": " + error.message());
  return {};
}

}  // namespace hekla::agent
