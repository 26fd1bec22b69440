#include "agent/gpu/gpu_driver.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "agent/os/process.h"
#include "agent/runtime/devices.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::uint32_t kCardMajor = 195;  // the kernel's list of device numbers
constexpr std::uint32_t kControlMinor = 255, kModesetMinor = 254;
constexpr std::uint32_t kOpenToAll = 0666;
constexpr const char* kSharedNodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                        "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};
constexpr const char* kLibraryDirectories[] = {"/usr/lib/x86_64-linux-gnu",
                                               "/usr/lib/aarch64-linux-gnu",
                                               "/usr/lib64",
                                               "/usr/lib",
                                               "/usr/lib/x86_64-linux-gnu/nvidia/current",
                                               "/usr/lib/aarch64-linux-gnu/nvidia/current",
                                               "/usr/lib64/nvidia",
                                               "/opt/nvidia/lib64"};
constexpr const char* kLibraries[] = {"libcuda.so", "libcudadebugger.so", "libnvidia-",
                                      "libnvcuvid.so", "libnvoptix.so"};

bool is_driver_library(std::string_view name) {
  return std::ranges::any_of(kLibraries,
                             [&](std::string_view start) { return name.starts_with(start); });
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// The minor numbers in /proc/driver/nvidia/gpus/*/information.
std::vector<std::uint32_t> known_minors(const std::string& root) {
  std::vector<std::uint32_t> out;
  std::error_code error;
  for (const auto& card : fs::directory_iterator(root + "/proc/driver/nvidia/gpus", error)) {
    std::istringstream lines(read_file(card.path().string() + "/information").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kName = "Device Minor:";
      if (!line.starts_with(kName)) continue;
      const std::size_t at = line.find_first_not_of(" \t", kName.size());
      if (auto minor = at == std::string::npos ? std::nullopt : number(line.substr(at)))
        out.push_back(*minor);
    }
  }
  return out;
}

// By number: /dev/nvidia10 comes after /dev/nvidia9.
std::vector<OciDevice> find_cards(const std::string& root) {
  std::map<std::uint32_t, OciDevice> found;
  for (std::uint32_t minor : known_minors(root))
    found[minor] = {"/dev/nvidia" + std::to_string(minor), 'c', kCardMajor, minor, kOpenToAll};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/dev", error)) {
    const std::string name = entry.path().filename();
    std::optional<std::uint32_t> index =
        name.starts_with("nvidia") ? number(name.substr(6)) : std::nullopt;
    if (!index) continue;
    if (auto device = read_device(entry.path(), "/dev/" + name)) found[*index] = *device;
  }
  std::vector<OciDevice> out;
  for (auto& [index, device] : found) out.push_back(std::move(device));
  return out;
}

std::vector<OciDevice> find_shared(const std::string& root) {
  std::vector<OciDevice> out;
  for (const char* path : kSharedNodes) {
    const std::string name = path;
    if (auto device = read_device(root + name, name))
      out.push_back(*device);
    else if (name == "/dev/nvidiactl")
      out.push_back({name, 'c', kCardMajor, kControlMinor, kOpenToAll});
    else if (name == "/dev/nvidia-modeset")
      out.push_back({name, 'c', kCardMajor, kModesetMinor, kOpenToAll});
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/dev/nvidia-caps", error)) {
    const std::string name = "/dev/nvidia-caps/" + entry.path().filename().string();
    if (auto device = read_device(entry.path(), name)) out.push_back(*device);
  }
  std::ranges::sort(out, {}, &OciDevice::path);
  return out;
}

// Under every name that leads to a library of this version (libcuda.so.1 is what programs ask for).
std::vector<OciMount> find_files(const std::string& root,
                                 const std::vector<std::string>& directories) {
  const std::string version =
      driver_version(read_file(root + "/proc/driver/nvidia/version").value_or(""));
  const std::vector<std::string> access = {"bind", "rprivate", "ro", "nosuid", "nodev"};
  std::map<std::string, std::string> libraries;
  std::error_code error;
  for (const std::string& directory : directories)
    for (const auto& entry : fs::directory_iterator(root + directory, error)) {
      const std::string name = entry.path().filename();
      if (!is_driver_library(name) || libraries.contains(name)) continue;
      const fs::path real = fs::canonical(entry.path(), error);
      if (error || !fs::is_regular_file(real, error)) continue;
      if (version.empty() || real.string().ends_with(".so." + version)) libraries[name] = real;
    }
  std::vector<OciMount> out;
  for (const auto& [name, real] : libraries)
    out.push_back({std::string(kGpuLibraries) + "/" + name, "none", real, access});
  const std::string tool = root + "/usr/bin/nvidia-smi";
  if (fs::exists(tool, error)) out.push_back({"/usr/bin/nvidia-smi", "none", tool, access});
  return out;
}

}  // namespace

std::string driver_version(std::string_view text) {
  std::istringstream words{std::string(text.substr(0, text.find('\n')))};
  for (std::string word; words >> word;)
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return {};
}

std::vector<std::string> driver_directories(std::string_view ldconfig) {
  std::vector<std::string> out;
  std::istringstream lines{std::string(ldconfig)};
  for (std::string line; std::getline(lines, line);) {
    // "  libcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1"
    const std::size_t begin = line.find_first_not_of(" \t"), arrow = line.find("=> ");
    if (begin == std::string::npos || arrow == std::string::npos) continue;
    const bool wide =
        line.find("64)") != std::string::npos || line.find("AArch64") != std::string::npos;
    if (!wide || !is_driver_library(std::string_view(line).substr(begin))) continue;
    std::string directory = fs::path(line.substr(arrow + 3)).parent_path();
    if (std::ranges::find(out, directory) == out.end()) out.push_back(std::move(directory));
  }
  return out;
}

GpuDriver find_gpus(const std::string& root, const std::vector<std::string>& library_directories) {
  GpuDriver out;
  out.cards = find_cards(root);
  if (out.cards.empty()) return out;
  out.shared = find_shared(root);
  std::vector<std::string> directories = library_directories;
  directories.insert(directories.end(), std::begin(kLibraryDirectories),
                     std::end(kLibraryDirectories));
  out.files = find_files(root, directories);
  return out;
}

GpuDriver find_gpus() {
  if (find_cards("").empty()) return {};
  return find_gpus("", driver_directories(run_checked({"/sbin/ldconfig", "-p"}).value_or("")));
}

void give_gpus(const GpuDriver& driver, const std::vector<std::int32_t>& cards, bool own_libraries,
               BundleSpec& bundle) {
  std::vector<OciDevice> nodes;
  for (std::int32_t card : cards)
    if (card >= 0 && static_cast<std::size_t>(card) < driver.cards.size()) {
      const OciDevice& node = driver.cards[static_cast<std::size_t>(card)];
      if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    }
  if (nodes.empty()) return;
  bundle.devices.insert(bundle.devices.end(), nodes.begin(), nodes.end());
  bundle.devices.insert(bundle.devices.end(), driver.shared.begin(), driver.shared.end());
  if (own_libraries || driver.files.empty()) return;
  bundle.mounts.insert(bundle.mounts.end(), driver.files.begin(), driver.files.end());
  auto path = std::ranges::find_if(
      bundle.env, [](const auto& one) { return one.starts_with("LD_LIBRARY_PATH="); });
  if (path == bundle.env.end())
    bundle.env.push_back(std::string("LD_LIBRARY_PATH=") + kGpuLibraries);
  else if (!path->contains(kGpuLibraries))
    *path += std::string(path->ends_with('=') ? "" : ":") + kGpuLibraries;
}

}  // namespace hekla::agent
