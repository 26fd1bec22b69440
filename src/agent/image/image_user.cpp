// Users and groups by name, in the files of an image that may be anything.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <sstream>

#include "agent/image/image_store.h"
#include "agent/os/file_descriptor.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

// Links are followed inside the root only. A missing file is an empty one.
std::string read_in_root(const std::string& root, const char* path) {
  FileDescriptor directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return {};
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  FileDescriptor file(
      static_cast<int>(::syscall(SYS_openat2, directory.get(), path, &how, sizeof how)));
  std::string out;
  char buffer[4096];
  while (file && out.size() < kLargestFile) {
    ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n <= 0) break;
    out.append(buffer, static_cast<std::size_t>(n));
  }
  return out;
}

std::optional<std::uint32_t> user_number(const std::string& text) {
  std::uint32_t out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::vector<std::string> colon_fields(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ':');) out.push_back(field);
  return out;
}

// The line whose first field is `name`, or whose third is `number`.
std::vector<std::string> find_line(const std::string& text, const std::string& name,
                                   std::optional<std::uint32_t> number) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields = colon_fields(line);
    if (fields.size() < 3) continue;
    if (number ? user_number(fields[2]) == number : fields[0] == name) return fields;
  }
  return {};
}

}  // namespace

Result<void> apply_image_user(const std::string& user, const std::string& root,
                              Security& security) {
  const std::size_t colon = user.find(':');
  const std::string name = user.substr(0, colon);
  const std::string group = colon == std::string::npos ? "" : user.substr(colon + 1);
  const std::string passwd = read_in_root(root, "etc/passwd");
  const std::string groups = read_in_root(root, "etc/group");
  std::optional<std::uint32_t> uid = security.uid_given ? security.uid : user_number(name);
  std::vector<std::string> line = find_line(passwd, name.empty() ? "root" : name, uid);
  if (!uid && !line.empty()) uid = user_number(line[2]);
  if (!uid && !name.empty())
    return fail(Code::invalid,
                "unable to find user " + name + ": no matching entries in passwd file");
  security.uid = uid.value_or(0);
  if (!security.gid_given && line.size() > 3) security.gid = user_number(line[3]).value_or(0);
  if (!security.gid_given && !security.uid_given && !group.empty()) {
    std::optional<std::uint32_t> gid = user_number(group);
    std::vector<std::string> found = find_line(groups, group, gid);
    if (!gid && !found.empty()) gid = user_number(found[2]);
    if (!gid)
      return fail(Code::invalid,
                  "unable to find group " + group + ": no matching entries in group file");
    security.gid = *gid;
  }
  if (line.empty() || security.strict_groups) return {};
  // The groups that list the user as a member.
  std::istringstream lines(groups);
  for (std::string text; std::getline(lines, text);) {
    std::vector<std::string> fields = colon_fields(text);
    if (fields.size() < 4) continue;
    std::istringstream members(fields[3]);
    for (std::string member; std::getline(members, member, ',');)
      if (std::optional<std::uint32_t> gid = user_number(fields[2]); gid && member == line[0])
        security.groups.push_back(*gid);
  }
  return {};
}

}  // namespace hekla::agent
