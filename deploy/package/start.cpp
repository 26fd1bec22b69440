// bin/hekla of the tarball: looks at the system's C library and becomes libexec/hekla. The dynamic
// linker would name every missing version of every symbol; this program, which is static, says in
// one sentence what is wrong and what to do. HEKLA_GLIBC is the version that the tarball needs.
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#ifndef HEKLA_GLIBC
#error "HEKLA_GLIBC is the version of glibc that the packed programs need, such as 2.36"
#endif

namespace {

constexpr int kCannotRun = 126;
constexpr const char* kOtherWays =
    "Debian 12, Ubuntu 23.04, Fedora 37 or newer run it; on an older system its image runs in a "
    "container";

// The places of the C library on Debian and its kin, on Fedora and its, on others.
constexpr const char* kPlaces[] = {"/lib/x86_64-linux-gnu/libc.so.6",
                                   "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                   "/lib/aarch64-linux-gnu/libc.so.6",
                                   "/usr/lib/aarch64-linux-gnu/libc.so.6",
                                   "/lib64/libc.so.6",
                                   "/usr/lib64/libc.so.6",
                                   "/lib/libc.so.6",
                                   "/usr/lib/libc.so.6"};

struct Version {
  int major = 0, minor = 0;
  bool operator<(const Version& other) const {
    return major != other.major ? major < other.major : minor < other.minor;
  }
};

Version parse(const char* text) {
  Version out;
  char* end = nullptr;
  out.major = static_cast<int>(std::strtol(text, &end, 10));
  if (*end == '.') out.minor = static_cast<int>(std::strtol(end + 1, nullptr, 10));
  return out;
}

// From its greeting: "GNU C Library (...) stable release version 2.36."
bool read_version(const char* path, Version& version) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat about{};
  void* mapped = MAP_FAILED;
  if (::fstat(file, &about) == 0 && about.st_size > 0)
    mapped =
        ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) return false;
  const std::string_view bytes(static_cast<const char*>(mapped),
                               static_cast<std::size_t>(about.st_size));
  constexpr std::string_view kGreeting = " release version ";
  const std::size_t begin = bytes.find("GNU C Library (");
  const std::size_t at = begin == std::string_view::npos ? begin : bytes.find(kGreeting, begin);
  if (at == std::string_view::npos) return false;
  version = parse(std::string(bytes.substr(at + kGreeting.size(), 16)).c_str());
  return true;
}

bool find_library(Version& version) {
  for (const char* place : kPlaces)
    if (read_version(place, version)) return true;
  return false;
}

int refuse(const std::string& what) {
  std::fprintf(stderr, "hekla: %s; this hekla needs glibc " HEKLA_GLIBC ": %s\n", what.c_str(),
               kOtherWays);
  return kCannotRun;
}

// Where this program is; through a link, where the link leads. In a chroot without /proc the kernel
// has told it all the same.
std::string place_of_this() {
  char place[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", place, sizeof place - 1) > 0) return place;
  const auto* told = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return told && ::realpath(told, place) ? place : "";
}

}  // namespace

int main(int, char** argv) {
  Version found;
  if (!find_library(found)) return refuse("this system has no GNU C library (glibc)");
  if (found < parse(HEKLA_GLIBC))
    return refuse("this system's C library is glibc " + std::to_string(found.major) + "." +
                  std::to_string(found.minor));
  std::string program = place_of_this();
  for (int level = 0; level < 2; ++level)
    program.resize(std::min(program.size(), program.rfind('/')));
  program += "/libexec";
  // What $ORIGIN means to the dynamic linker where it cannot ask /proc.
  ::setenv("LD_ORIGIN_PATH", program.c_str(), 0);
  program += "/hekla";
  ::execv(program.c_str(), argv);
  std::fprintf(stderr, "hekla: start %s: %s: unpack the whole archive\n", program.c_str(),
               std::strerror(errno));
  return kCannotRun;
}
