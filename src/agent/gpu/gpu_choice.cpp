#include "agent/gpu/gpu_choice.h"

#include <algorithm>

namespace hekla::agent {

std::optional<std::vector<std::int32_t>> choose_gpus(const GpuPool& pool,
                                                     const std::vector<std::int32_t>& used,
                                                     int count) {
  std::vector<int> load(static_cast<std::size_t>(std::max(0, pool.cards)), 0);
  for (std::int32_t card : used)
    if (card >= 0 && card < pool.cards) ++load[static_cast<std::size_t>(card)];
  std::vector<std::int32_t> chosen;
  for (int i = 0; i < count; ++i) {
    auto least = std::ranges::min_element(load);
    if (least == load.end() || *least >= pool.replicas) return std::nullopt;
    ++*least;
    chosen.push_back(static_cast<std::int32_t>(least - load.begin()));
  }
  std::ranges::sort(chosen);
  return chosen;
}

std::string gpu_list(const std::vector<std::int32_t>& cards) {
  std::string out;
  std::int32_t last = -1;
  for (std::int32_t card : cards) {
    if (card == last) continue;  // two shares of one card are one device
    out += (out.empty() ? "" : ",") + std::to_string(card);
    last = card;
  }
  return out;
}

}  // namespace hekla::agent
