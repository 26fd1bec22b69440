// Finds devices on one node for several claims at once: candidates are tried one after the other
// with backtracking, as kube-scheduler's allocator does, until the first solution or until a limit
// of steps is used up.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "scheduler/cluster/device_claim.h"

namespace hekla::scheduler {

struct ChosenDevice {
  const DeviceSlice* slice = nullptr;
  const Device* device = nullptr;
  const DeviceWish* wish = nullptr;
};

class DeviceSearch {
 public:
  struct View {
    const DeviceSelectors& selectors;
    const std::map<std::string, DeviceClassSpec>& classes;
    const std::unordered_map<std::string, int>& taken;  // how many claims have the device, by key
    const Node& node;
    const Names& names;
  };
  static constexpr int kMostSteps = 20'000;
  static constexpr std::size_t kMostDevices = 32;  // of one claim, AllocationResultsMaxSize

  DeviceSearch(const View& view, std::vector<const DeviceSlice*> slices);

  // One list for each claim, or nothing, with the reason. The classes must exist.
  std::optional<std::vector<std::vector<ChosenDevice>>> run(
      const std::vector<const ClaimSpec*>& claims, std::string& why);

 private:
  struct Candidate {
    const DeviceSlice* slice;
    const Device* device;
  };
  // What the search has to know of a wish.
  struct Choice {
    const DeviceWish* wish;
    std::vector<Candidate> candidates;  // those that could serve it at all
    std::size_t count;
    bool possible;
  };
  struct Request {
    const DeviceRequestSpec* spec;
    std::vector<Choice> choices;
  };
  struct Tried {
    const ClaimSpec* spec;
    std::vector<Request> requests;
    std::vector<std::vector<std::string_view>> values;  // by constraint, of the chosen devices
    std::vector<ChosenDevice> chosen;
  };
  struct Position {
    std::size_t claim = 0, request = 0, choice = 0, device = 0;
  };

  bool prepare(const ClaimSpec& claim);
  Choice choice_of(const ClaimSpec& claim, const DeviceWish& wish);
  bool selects(const ClaimSpec& claim, const DeviceWish& wish, const Candidate& candidate);
  bool free_for(const DeviceWish& wish, const Candidate& candidate) const;

  bool allocate(Position at);
  bool allocate_devices(Position at, std::size_t start);
  bool take(const Position& at, const Candidate& candidate);
  void give_back(const Position& at, const Candidate& candidate);
  bool count_down(const Candidate& candidate);
  void count_up(const Candidate& candidate);

  View view_;
  std::vector<const DeviceSlice*> slices_;
  std::vector<Candidate> candidates_;
  std::vector<Tried> claims_;
  std::map<const DevicePool*, std::map<std::string, Int128>> counters_;  // left, of pools looked at
  int steps_ = 0;
  std::string failure_;
};

}  // namespace hekla::scheduler
