#include "main/port_holder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/disk.h"

namespace hekla {
namespace {

namespace fs = std::filesystem;

constexpr const char* kListening = "0A";

// The sockets that listen on the port, as /proc names them: "socket:[4711]".
std::set<std::string> sockets_at(std::uint16_t port) {
  std::set<std::string> found;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::istringstream lines(read_file(table).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::string number, local, remote, state, queues, timer, retransmit, user, timeout, inode;
      fields >> number >> local >> remote >> state >> queues >> timer >> retransmit >> user >>
          timeout >> inode;
      unsigned at = 0;
      const std::size_t colon = local.rfind(':');
      if (colon == std::string::npos || state != kListening) continue;
      std::from_chars(local.data() + colon + 1, local.data() + local.size(), at, 16);
      if (at == port) found.insert("socket:[" + inode + "]");
    }
  }
  return found;
}

bool holds_one_of(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unreadable;
    if (sockets.contains(fs::read_symlink(at->path(), unreadable).string())) return true;
  }
  return false;
}

}  // namespace

std::string port_holder(std::uint16_t port) {
  const std::set<std::string> sockets = sockets_at(port);
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !sockets.empty() && !error && at != end;
       at.increment(error)) {
    const std::string pid = at->path().filename();
    const bool is_process = std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_process || !holds_one_of(at->path(), sockets)) continue;
    std::string name = read_file(at->path() / "comm").value_or("a process");
    while (name.ends_with('\n')) name.pop_back();
    return name + " (pid " + pid + ")";
  }
  return {};
}

}  // namespace hekla
