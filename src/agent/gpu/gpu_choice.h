// Which GPUs a container gets. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hekla::agent {

inline constexpr const char* kGpuResource = "nvidia.com/gpu";

struct GpuPool {
  int cards = 0;
  int replicas = 1;  // containers that may share a card
};

// Different cards where there are enough, each time the least used; nothing when the pool has no
// room. `used` names a card once for each container that holds it.
std::optional<std::vector<std::int32_t>> choose_gpus(const GpuPool& pool,
                                                     const std::vector<std::int32_t>& used,
                                                     int count);
// "0,2", as NVIDIA_VISIBLE_DEVICES wants it.
std::string gpu_list(const std::vector<std::int32_t>& cards);

}  // namespace hekla::agent
