#include "launcher/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hekla::launcher {
namespace {

constexpr std::size_t kFilesMax = 100'000;
constexpr int kLevelsMax = 32;

void walk(const std::string& directory, const std::string& below, int level,
          std::vector<std::string>& found) {
  DIR* open = level < kLevelsMax ? ::opendir(directory.c_str()) : nullptr;
  if (open == nullptr) return;
  while (const dirent* entry = ::readdir(open)) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || found.size() >= kFilesMax) continue;
    const std::string path = directory + "/" + name;
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) continue;
    if (S_ISDIR(about.st_mode))
      walk(path, below + name + "/", level + 1, found);
    else if (S_ISREG(about.st_mode))
      found.push_back(below + name);
  }
  ::closedir(open);
}

}  // namespace

std::string make_parents(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string directory = path.substr(0, at);
    if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
      return "cannot make the directory " + directory + ": " + std::strerror(errno);
  }
  return {};
}

std::string write_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  std::size_t done = 0;
  while (fd >= 0 && done < text.size()) {
    const ssize_t got = ::write(fd, text.data() + done, text.size() - done);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (fd >= 0 && done == text.size()) return {};
  return "cannot write " + path + ": " + std::strerror(why);
}

std::optional<std::string> read_file(const std::string& path, std::size_t limit) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string all, piece(64 * 1024, '\0');
  ssize_t got = 0;
  while ((got = ::read(fd, piece.data(), piece.size())) > 0 && all.size() <= limit)
    all.append(piece, 0, static_cast<std::size_t>(got));
  ::close(fd);
  if (got < 0 || all.size() > limit) return std::nullopt;
  return all;
}

std::optional<std::vector<std::string>> tree(const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return std::nullopt;
  std::vector<std::string> found;
  if (S_ISDIR(about.st_mode))
    walk(path, "", 0, found);
  else
    found.emplace_back();
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace hekla::launcher
