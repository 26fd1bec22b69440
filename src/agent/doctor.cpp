#include "agent/doctor.h"

#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/disk.h"

namespace hekla::agent {
namespace {

using Grade = Finding::Grade;

Finding program_finding(const std::string& path, const std::string& why, const std::string& package) {
  if (::access(path.c_str(), X_OK) == 0) return {Grade::good, path + " is installed", ""};
  return {Grade::bad, path + " is missing: " + why, "apt install " + package};
}

Finding root_finding() {
  if (::geteuid() == 0) return {Grade::good, "running as root", ""};
  return {Grade::bad, "not running as root: pods need namespaces, mounts and control groups",
          "start hekla with sudo, or use --no-agent for the API and the scheduler alone"};
}

Finding overlay_finding() {
  if (has_file_system(read_file("/proc/filesystems").value_or(""), "overlay"))
    return {Grade::good, "the kernel has overlayfs", ""};
  return {Grade::bad, "the kernel has no overlayfs: containers get no root file system",
          "modprobe overlay"};
}

Finding outside_finding() {
  if (::access("/usr/bin/pasta", X_OK) == 0)
    return {Grade::good, "/usr/bin/pasta is installed: pods reach the outside", ""};
  return {Grade::note, "/usr/bin/pasta is missing: pods reach each other, but nothing outside",
          "apt install passt"};
}

Finding kubectl_finding() {
  for (const char* directory : {"/usr/local/bin", "/usr/bin", "/bin", "/snap/bin"})
    if (::access((std::string(directory) + "/kubectl").c_str(), X_OK) == 0)
      return {Grade::good, std::string("kubectl is in ") + directory, ""};
  return {Grade::note, "kubectl is not installed", "apt install kubernetes-client"};
}

Finding gpu_finding() {
  int cards = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    std::string name = entry.path().filename();
    bool card = name.starts_with("nvidia") && name.size() > 6 && name[6] >= '0' && name[6] <= '9';
    if (card) ++cards;
  }
  if (cards == 0) return {Grade::note, "no NVIDIA GPUs in /dev", ""};
  const std::string count = std::to_string(cards);
  return {Grade::good, count + " NVIDIA GPUs in /dev",
          "declare them with --node-resources nvidia.com/gpu=" + count};
}

}  // namespace

bool has_file_system(const std::string& filesystems, const std::string& name) {
  std::istringstream lines(filesystems);
  for (std::string line; std::getline(lines, line);)
    if (line.substr(line.find('\t') + 1) == name) return true;
  return false;
}

Finding judge_cgroups(const std::string& mountinfo) {
  bool unified = mountinfo.find(" - cgroup2 ") != std::string::npos;
  bool legacy = mountinfo.find(" - cgroup ") != std::string::npos;
  if (unified && legacy)
    return {Grade::good, "control groups: version 1 with version 2 beside it; limits use version 1", ""};
  if (unified) return {Grade::good, "control groups: version 2", ""};
  if (legacy) return {Grade::good, "control groups: version 1", ""};
  return {Grade::bad, "no control groups are mounted: limits and OOM reports need them",
          "mount -t cgroup2 none /sys/fs/cgroup"};
}

std::vector<Finding> examine_machine() {
  return {root_finding(),
          program_finding("/usr/bin/crun", "it runs the containers", "crun"),
          program_finding("/usr/bin/conmon", "it keeps the containers' output and exit codes", "conmon"),
          overlay_finding(),
          judge_cgroups(read_file("/proc/self/mountinfo").value_or("")),
          outside_finding(),
          kubectl_finding(),
          gpu_finding()};
}

}  // namespace hekla::agent
