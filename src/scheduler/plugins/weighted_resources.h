// Weights of resources as several plugins take them: "<prefix>.cpu" (1), "<prefix>.memory" (1),
// "<prefix>.resources" naming others in a list, each with "<prefix>.resources.<name>" (1). A
// negative weight is 1.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/cluster/resources.h"
#include "scheduler/session/configuration.h"

namespace hekla::scheduler {

class WeightedResources {
 public:
  WeightedResources(const Arguments& arguments, const std::string& prefix) {
    add("cpu", arguments.number(prefix + ".cpu", 1));
    add("memory", arguments.number(prefix + ".memory", 1));
    std::string list = arguments.text(prefix + ".resources");
    for (std::size_t begin = 0; begin < list.size();) {
      std::size_t comma = std::min(list.find(',', begin), list.size());
      std::string name = list.substr(begin, comma - begin);
      std::erase(name, ' ');
      if (!name.empty()) add(name, arguments.number(prefix + ".resources." + name, 1));
      begin = comma + 1;
    }
  }
  // Zero for those without a weight.
  std::array<double, kMaxDimensions> by_dimension(const Dimensions& dimensions) const {
    std::array<double, kMaxDimensions> out{};
    for (const auto& [name, weight] : weights_)
      if (std::optional<Dim> dim = dimensions.find(name)) out[*dim] = weight;
    return out;
  }

 private:
  void add(std::string name, double weight) {
    weights_.emplace_back(std::move(name), weight < 0 ? 1 : weight);
  }
  std::vector<std::pair<std::string, double>> weights_;
};

}  // namespace hekla::scheduler
