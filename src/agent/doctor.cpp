#include "agent/doctor.h"

#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "agent/gpu/gpu_driver.h"
#include "agent/image/recipe.h"
#include "agent/network/pod_network.h"
#include "agent/os/process.h"
#include "agent/os/root_mount.h"
#include "agent/rootless/holder.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

using Grade = Finding::Grade;

Finding program_finding(const std::string& path, const std::string& why,
                        const std::string& package) {
  if (::access(path.c_str(), X_OK) == 0) return {Grade::good, path + " is installed", ""};
  return {Grade::bad, path + " is missing: " + why, "apt install " + package};
}

// Debian's, or the one that came with this program.
std::string container_program(const std::string& name) {
  return (bundled_directory().empty() ? "/usr/bin" : bundled_directory()) + "/" + name;
}

Finding root_finding() {
  if (::geteuid() == 0) return {Grade::good, "running as root", ""};
  Result<void> tried = try_rootless();
  if (tried)
    return {Grade::note,
            "not root, but user namespaces work: pods run as you and as no other user, without "
            "limits (rootless)",
            "start hekla with sudo for limits and other users"};
  const std::string setting = user_namespace_fix();
  return {Grade::bad, "neither root nor able to run pods rootless: " + tried.error().message,
          (setting.empty() ? "" : setting + ", or ") +
              "start hekla with sudo, or use --no-agent for the API and the scheduler alone"};
}

Finding chroot_finding() {
  Result<std::string> mounts = read_file("/proc/self/mountinfo");
  if (!mounts)
    return {Grade::bad, "/proc is not mounted: " + mounts.error().message,
            "mount -t proc proc /proc"};
  const std::string obstacle = chroot_obstacle(*mounts);
  if (obstacle.empty()) return {Grade::good, "/ is a mount point", ""};
  return {Grade::bad, obstacle, kChrootFix};
}

Finding overlay_finding() {
  if (has_file_system(read_file("/proc/filesystems").value_or(""), "overlay"))
    return {Grade::good, "the kernel has overlayfs", ""};
  return {Grade::bad, "the kernel has no overlayfs: containers get no root file system",
          "modprobe overlay"};
}

// Where version 2 is mounted alone, or beside version 1.
std::string unified_controllers() {
  for (const char* place :
       {"/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/unified/cgroup.controllers"})
    if (Result<std::string> text = read_file(place)) return *text;
  return {};
}

Finding cgroup_finding() {
  if (::geteuid() != 0)
    return {Grade::note, "control groups are root's: no limits for cpu, memory and processes", ""};
  return judge_cgroups(read_file("/proc/self/mountinfo").value_or(""), unified_controllers());
}

Finding network_finding() {
  if (::geteuid() != 0)
    return {Grade::note, "whether pods get networks is not known without root",
            "sudo hekla doctor"};
  return judge_network(PodNetwork::try_out());
}

Finding outside_finding() {
  const std::string obstacle = PodNetwork::outside_obstacle();
  if (obstacle.empty())
    return {Grade::good, "/usr/bin/pasta is installed: pods reach the outside", ""};
  if (::access("/usr/bin/pasta", X_OK) == 0)
    return {Grade::note, obstacle + " by pasta: pods reach each other, but nothing outside",
            "sudo modprobe tun; sudo chmod 666 /dev/net/tun"};
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
  const GpuDriver driver = find_gpus();
  if (driver.cards.empty()) return {Grade::note, "no NVIDIA GPUs in /dev", ""};
  const std::string count =
      std::to_string(driver.cards.size()) + " NVIDIA GPUs, offered as nvidia.com/gpu";
  if (driver.files.empty())
    return {Grade::note,
            count + "; the driver's libraries are not found: images must have their own",
            "install the NVIDIA driver's libraries (libcuda.so.1, libnvidia-ml.so.1)"};
  return {Grade::good, count, ""};
}

Finding recipes_finding() {
  std::string ready, lacking;
  std::set<std::string> packages;
  for (const Recipe& recipe : all_recipes()) {
    const std::vector<std::string> missing = missing_packages(recipe);
    packages.insert(missing.begin(), missing.end());
    std::string& names = missing.empty() ? ready : lacking;
    names += (names.empty() ? "" : ", ") + recipe.name;
  }
  if (packages.empty()) return {Grade::good, "environments can be built: " + ready, ""};
  std::string fix = "apt install";
  for (const std::string& package : packages) fix += " " + package;
  return {Grade::note, "environments that lack packages of Debian: " + lacking, fix};
}

}  // namespace

bool has_file_system(const std::string& filesystems, const std::string& name) {
  std::istringstream lines(filesystems);
  for (std::string line; std::getline(lines, line);)
    if (line.substr(line.find('\t') + 1) == name) return true;
  return false;
}

Finding judge_cgroups(const std::string& mountinfo, const std::string& unified) {
  std::set<std::string> controllers;
  bool version1 = false, version2 = false;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    version2 = version2 || line.find(" - cgroup2 ") != std::string::npos;
    const std::size_t at = line.find(" - cgroup ");
    if (at == std::string::npos) continue;
    version1 = true;
    std::istringstream options(line.substr(line.rfind(' ') + 1));
    for (std::string one; std::getline(options, one, ',');) controllers.insert(one);
  }
  if (!version1 && !version2)
    return {Grade::bad, "no control groups are mounted: limits and OOM reports need them",
            "mount -t cgroup2 none /sys/fs/cgroup"};
  std::istringstream words(unified);
  for (std::string one; words >> one;) controllers.insert(one);
  std::string missing;
  for (const char* wanted : {"cpu", "memory", "pids"})
    if (!controllers.contains(wanted))
      missing += (missing.empty() ? "" : ", ") + std::string(wanted);
  if (!missing.empty())
    return {Grade::bad, "control groups without " + missing + ": pods cannot be limited",
            "start the kernel with cgroup_enable=memory and without cgroup_disable=; in a "
            "container, delegate its "
            "control group"};
  if (version1 && version2)
    return {Grade::good, "control groups: version 1 with version 2 beside it; limits use version 1",
            ""};
  return {Grade::good, std::string("control groups: version ") + (version2 ? "2" : "1"), ""};
}

Finding judge_network(const Result<void>& tried) {
  if (tried)
    return {Grade::good, "the kernel has bridges, veth pairs and nftables: pods get networks", ""};
  const std::string& why = tried.error().message;
  std::string fix = "run hekla with the capabilities SYS_ADMIN and NET_ADMIN";
  if (why.starts_with("bridge")) fix = "modprobe bridge";
  if (why.starts_with("veth")) fix = "modprobe veth";
  if (why.starts_with("nftables"))
    fix =
        "apt install nftables; modprobe -a nf_tables nft_ct nft_nat nft_masq nft_numgen "
        "nft_reject_inet";
  return {Grade::bad, "pods get no network: " + why, fix};
}

std::vector<Finding> examine_machine() {
  return {root_finding(),
          chroot_finding(),
          program_finding(container_program("crun"), "it runs the containers", "crun"),
          program_finding(container_program("conmon"),
                          "it keeps the containers' output and exit codes", "conmon"),
          program_finding("/usr/sbin/nft", "services and network policies need it", "nftables"),
          overlay_finding(),
          cgroup_finding(),
          network_finding(),
          outside_finding(),
          kubectl_finding(),
          gpu_finding(),
          recipes_finding()};
}

}  // namespace hekla::agent
