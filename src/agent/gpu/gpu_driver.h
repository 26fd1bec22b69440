// The NVIDIA cards of this machine and what a container needs to use them: device nodes, and the
// driver's libraries for images that are not this machine's own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime/bundle.h"

namespace hekla::agent {

// Where the driver's libraries are inside a container; images made for GPUs look there already.
inline constexpr const char* kGpuLibraries = "/usr/local/nvidia/lib64";

struct GpuDriver {
  std::vector<OciDevice> cards;   // by index
  std::vector<OciDevice> shared;  // control nodes, which every container with a card gets
  std::vector<OciMount> files;    // libraries and nvidia-smi, read-only
};

// Looks below `root` ("" for the machine itself). Nodes that nobody has made yet are known by the
// kernel's numbers. `library_directories` are looked through beside the usual ones.
GpuDriver find_gpus(const std::string& root, const std::vector<std::string>& library_directories);
// The same of this machine, with the directories that its linker knows. Blocks.
GpuDriver find_gpus();

// Of the text of /proc/driver/nvidia/version; empty when there is none in it.
std::string driver_version(std::string_view text);
// Where `ldconfig -p` found libraries of the driver.
std::vector<std::string> driver_directories(std::string_view ldconfig);

// Cards by index (those that were only declared have no nodes), the control nodes and, unless the
// image is this machine's own, the driver's files.
void give_gpus(const GpuDriver& driver, const std::vector<std::int32_t>& cards, bool own_libraries,
               BundleSpec& bundle);

}  // namespace hekla::agent
