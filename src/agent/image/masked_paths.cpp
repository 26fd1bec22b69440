#include "agent/image/masked_paths.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "agent/os/files.h"
#include "agent/os/instance.h"
#include "agent/os/user_namespace.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kFirstPerson = 1000;
// The top of a system, beside lib and its like. Of those that pods have of their own, or empty,
// only the names are the machine's.
constexpr const char* kTopLevel[] = {"bin", "boot", "dev",  "etc",  "home", "media",
                                     "mnt", "opt",  "proc", "root", "run",  "sbin",
                                     "srv", "sys",  "tmp",  "usr",  "var"};
// A home that is no place of one's own.
constexpr const char* kNoHomes[] = {
    "/",        "/bin",      "/dev",       "/etc", "/lib",     "/nonexistent",
    "/opt",     "/proc",     "/sbin",      "/srv", "/sys",     "/usr",
    "/usr/bin", "/usr/sbin", "/usr/share", "/var", "/var/lib", "/var/empty"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && std::ranges::find(out, line) == out.end()) out.push_back(line);
  return out;
}

std::string hidden_list(const std::string& data_dir) { return data_dir + "/hidden"; }

}  // namespace

std::vector<std::string> masked_directories() {
  return {"/root", "/home", "/run", "/tmp", "/boot", "/media", "/mnt", "/srv", "/var/tmp",
          "/var/backups", "/var/crash", "/var/log", "/var/mail", "/var/spool/cron",
          "/var/spool/mail", "/etc/ssh", "/etc/ssl/private", "/etc/sudoers.d", "/etc/wireguard",
          "/etc/NetworkManager/system-connections",
          // Hekla's own, and other runtimes' and clusters'.
          "/etc/hekla", "/var/lib/hekla", "/etc/kubernetes", "/etc/rancher", "/var/lib/kubelet",
          "/var/lib/rancher", "/var/lib/etcd", "/var/lib/docker", "/var/lib/containerd",
          "/var/lib/containers"};
}

std::vector<std::string> masked_files() {
  return {"/etc/shadow",
          "/etc/shadow-",
          "/etc/gshadow",
          "/etc/gshadow-",
          "/etc/sudoers",
          "/etc/krb5.keytab",
          "/etc/crypttab",
          "/etc/ipsec.secrets",
          "/etc/security/opasswd",
          "/etc/ppp/chap-secrets",
          "/var/cache/debconf/passwords.dat"};
}

std::vector<std::string> foreign_names(const std::string& root) {
  std::vector<std::string> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("lib") && std::ranges::find(kTopLevel, name) == std::end(kTopLevel))
      out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

PrivatePaths private_paths(const std::string& directory, const std::vector<std::string>& leave_out,
                           std::size_t most) {
  PrivatePaths out;
  std::vector<std::string> open = {directory};
  std::size_t looked_at = 0;
  while (!open.empty()) {
    const std::string one = std::move(open.back());
    open.pop_back();
    std::error_code error;
    if (looked_at >= most) {
      out.directories.push_back(one);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(one, error)) {
      const std::string path = entry.path();
      struct stat info{};
      ++looked_at;
      if (::lstat(path.c_str(), &info) != 0 || S_ISLNK(info.st_mode) ||
          std::ranges::find(leave_out, path) != leave_out.end())
        continue;
      const bool is_private = (info.st_mode & S_IRWXO) == 0;
      if (S_ISDIR(info.st_mode))
        (is_private ? out.directories : open).push_back(path);
      else if (is_private)
        out.files.push_back(path);
    }
  }
  std::ranges::sort(out.directories);
  std::ranges::sort(out.files);
  return out;
}

std::vector<std::string> home_directories(std::string_view passwd) {
  std::vector<std::string> out;
  std::istringstream lines{std::string(passwd)};
  for (std::string line; std::getline(lines, line);) {
    // name:password:uid:gid:comment:home:shell
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, ':');) fields.push_back(field);
    std::int64_t uid = -1;
    if (fields.size() < 6) continue;
    std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), uid);
    if (uid != 0 && uid < kFirstPerson) continue;
    std::string home = fs::path(fields[5]).lexically_normal();
    if (home.size() > 1 && home.ends_with('/')) home.pop_back();
    if (home.starts_with('/') && std::ranges::find(kNoHomes, home) == std::end(kNoHomes) &&
        std::ranges::find(out, home) == out.end())
      out.push_back(std::move(home));
  }
  return out;
}

std::vector<std::string> remembered_masked(const std::string& data_dir) {
  return lines_of(read_file(hidden_list(data_dir)).value_or(""));
}

Result<std::vector<std::string>> remember_masked(const std::string& data_dir,
                                                 std::vector<std::string> paths) {
  std::error_code error;
  for (const std::string& path : remembered_masked(data_dir))
    if (fs::exists(path, error) && std::ranges::find(paths, path) == paths.end())
      paths.push_back(path);
  std::string text;
  for (const std::string& path : paths) text += path + "\n";
  TRY(replace_file(hidden_list(data_dir), text, 0600));
  return paths;
}

std::string instance_registry() {
  if (!is_rootless()) return kInstances;
  const std::string home = rootless_home();
  return home.empty() ? home : home + "/.local/share/hekla/instances";
}

std::vector<std::string> known_instances(const std::string& registry) {
  std::vector<std::string> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(registry, error)) {
    const std::vector<std::string> lines = lines_of(read_file(entry.path()).value_or(""));
    if (lines.size() == 1 && fs::is_directory(lines.front(), error)) out.push_back(lines.front());
  }
  std::ranges::sort(out);
  return out;
}

Result<std::vector<std::string>> remember_instance(const std::string& registry,
                                                   const std::string& data_dir) {
  TRY(make_directories(registry));
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(registry, error)) {
    const std::vector<std::string> lines = lines_of(read_file(entry.path()).value_or(""));
    if (lines.size() != 1 || !fs::is_directory(lines.front(), error))
      fs::remove(entry.path(), error);
  }
  TRY(replace_file(registry + "/" + instance_paths(data_dir).name, data_dir + "\n", 0600));
  return known_instances(registry);
}

}  // namespace hekla::agent
