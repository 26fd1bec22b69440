#include "scheduler/cluster/device_search.h"

#include <algorithm>

namespace hekla::scheduler {

DeviceSearch::DeviceSearch(const View& view, std::vector<const DeviceSlice*> slices)
    : view_(view), slices_(std::move(slices)) {
  for (const DeviceSlice* slice : slices_) {
    if (!slice->pool->problem.empty()) continue;
    for (const Device& device : slice->devices)
      if (!slice->by_device || device.reach.reaches(view_.node, view_.names))
        candidates_.push_back({slice, &device});
  }
}

std::optional<std::vector<std::vector<ChosenDevice>>> DeviceSearch::run(
    const std::vector<const ClaimSpec*>& claims, std::string& why) {
  bool possible = true;
  for (const ClaimSpec* claim : claims) possible = prepare(*claim) && possible && failure_.empty();
  if (possible && allocate({})) {
    std::vector<std::vector<ChosenDevice>> out;
    for (Tried& claim : claims_) out.push_back(std::move(claim.chosen));
    return out;
  }
  why = failure_.empty() ? "cannot allocate all claims" : failure_;
  return std::nullopt;
}

// ---- what could serve a wish

bool DeviceSearch::prepare(const ClaimSpec& claim) {
  Tried& tried = claims_.emplace_back();
  tried.spec = &claim;
  tried.values.resize(claim.constraints.size());
  bool possible = true;
  for (const DeviceRequestSpec& spec : claim.requests) {
    Request request{&spec, {}};
    bool any = false;
    for (const DeviceWish& wish : spec.alternatives) {
      request.choices.push_back(choice_of(claim, wish));
      if (!failure_.empty()) return false;
      any |= request.choices.back().possible;
    }
    possible &= any;
    tried.requests.push_back(std::move(request));
  }
  return possible;
}

DeviceSearch::Choice DeviceSearch::choice_of(const ClaimSpec& claim, const DeviceWish& wish) {
  Choice choice{&wish, {}, static_cast<std::size_t>(std::max<std::int64_t>(wish.count, 0)), true};
  if (wish.all)
    for (const DeviceSlice* slice : slices_)
      if (!slice->pool->problem.empty() && failure_.empty())
        failure_ = "claim " + claim.name + ", request " + wish.name +
                   ": asks for all devices, but resource pool " + slice->pool->name + " " +
                   slice->pool->problem;
  for (const Candidate& candidate : candidates_) {
    if (!failure_.empty()) return choice;
    if (!wish.all && !free_for(wish, candidate)) continue;
    if (!selects(claim, wish, candidate)) continue;
    if (wish.all && !free_for(wish, candidate)) choice.possible = false;  // all means all
    choice.candidates.push_back(candidate);
  }
  if (wish.all) choice.count = choice.candidates.size();
  choice.possible &=
      choice.count > 0 && choice.candidates.size() >= choice.count && choice.count <= kMostDevices;
  return choice;
}

bool DeviceSearch::free_for(const DeviceWish& wish, const Candidate& candidate) const {
  if (!wish.admin && view_.taken.contains(candidate.device->key)) return false;
  const std::vector<DeviceTaint>& taints = candidate.device->taints;
  return std::all_of(taints.begin(), taints.end(),
                     [&](const DeviceTaint& taint) { return tolerates(wish.tolerations, taint); });
}

bool DeviceSearch::selects(const ClaimSpec& claim, const DeviceWish& wish,
                           const Candidate& candidate) {
  const std::vector<std::uint32_t>& general = view_.classes.at(wish.class_name).selectors;
  for (const std::vector<std::uint32_t>* selectors : {&general, &wish.selectors})
    for (std::size_t i = 0; i < selectors->size(); ++i) {
      Result<bool> matches = view_.selectors.matches((*selectors)[i], candidate.device->selected);
      if (matches && *matches) continue;
      if (!matches)
        failure_ = (selectors == &general ? "class " + wish.class_name : "claim " + claim.name) +
                   ": selector #" + std::to_string(i) + " on device " + candidate.device->key +
                   ": " + matches.error().message;
      return false;
    }
  return true;
}

// ---- the search

bool DeviceSearch::allocate(Position at) {
  if (at.claim == claims_.size()) return true;
  Tried& claim = claims_[at.claim];
  if (at.request == claim.requests.size()) return allocate({.claim = at.claim + 1});
  Request& request = claim.requests[at.request];
  for (at.choice = 0; at.choice < request.choices.size(); ++at.choice) {
    const Choice& choice = request.choices[at.choice];
    if (!choice.possible || claim.chosen.size() + choice.count > kMostDevices) continue;
    if (allocate_devices(at, 0)) return true;
    if (!failure_.empty()) return false;
  }
  return false;
}

// The order of devices within a request does not matter: each is sought behind the one before it.
bool DeviceSearch::allocate_devices(Position at, std::size_t start) {
  if (++steps_ > kMostSteps) {
    failure_ = "timed out trying to allocate devices";
    return false;
  }
  const Choice& choice = claims_[at.claim].requests[at.request].choices[at.choice];
  if (at.device == choice.count) return allocate({.claim = at.claim, .request = at.request + 1});
  const std::size_t wanted = choice.count - at.device;
  for (std::size_t i = start; i + wanted <= choice.candidates.size(); ++i) {
    const Candidate& candidate = choice.candidates[i];
    if (!take(at, candidate)) continue;
    Position next = at;
    ++next.device;
    if (allocate_devices(next, i + 1)) return true;
    give_back(at, candidate);
    if (!failure_.empty()) return false;
  }
  return false;
}

bool DeviceSearch::take(const Position& at, const Candidate& candidate) {
  Tried& claim = claims_[at.claim];
  const Request& request = claim.requests[at.request];
  const DeviceWish& wish = *request.choices[at.choice].wish;
  for (const Tried& other : claims_)
    for (const ChosenDevice& one : other.chosen)
      if (one.device == candidate.device && (&other == &claim || (!wish.admin && !one.wish->admin)))
        return false;
  for (std::size_t i = 0; i < claim.spec->constraints.size(); ++i) {
    const DeviceConstraint& constraint = claim.spec->constraints[i];
    if (!constraint.concerns(*request.spec, wish)) continue;
    auto found = candidate.device->attributes.find(constraint.attribute);
    if (found == candidate.device->attributes.end()) return false;
    const std::vector<std::string_view>& values = claim.values[i];
    const bool known = std::find(values.begin(), values.end(), found->second) != values.end();
    if (constraint.distinct ? known : !values.empty() && !known) return false;
  }
  if (!count_down(candidate)) return false;
  for (std::size_t i = 0; i < claim.spec->constraints.size(); ++i)
    if (const DeviceConstraint& constraint = claim.spec->constraints[i];
        constraint.concerns(*request.spec, wish))
      claim.values[i].push_back(candidate.device->attributes.at(constraint.attribute));
  claim.chosen.push_back({candidate.slice, candidate.device, &wish});
  return true;
}

void DeviceSearch::give_back(const Position& at, const Candidate& candidate) {
  Tried& claim = claims_[at.claim];
  const Request& request = claim.requests[at.request];
  for (std::size_t i = 0; i < claim.spec->constraints.size(); ++i)
    if (claim.spec->constraints[i].concerns(*request.spec, *request.choices[at.choice].wish))
      claim.values[i].pop_back();
  claim.chosen.pop_back();
  count_up(candidate);
}

// Devices cut from the same piece of hardware share its counters.
bool DeviceSearch::count_down(const Candidate& candidate) {
  if (candidate.device->counters.empty()) return true;
  const DevicePool& pool = *candidate.slice->pool;
  auto [known, fresh] = counters_.try_emplace(&pool);
  std::map<std::string, Int128>& left = known->second;
  if (fresh) {
    for (const auto& [name, amount] : pool.counters) left[name] = amount.nanos;
    for (const DeviceSlice* slice : pool.slices)
      for (const Device& device : slice->devices)
        if (!device.counters.empty() && view_.taken.contains(device.key))
          for (const CounterUse& use : device.counters) left[use.counter] -= use.amount.nanos;
  }
  bool enough = true;
  for (const CounterUse& use : candidate.device->counters)
    enough &= (left[use.counter] -= use.amount.nanos) >= 0;
  if (!enough) count_up(candidate);
  return enough;
}

void DeviceSearch::count_up(const Candidate& candidate) {
  if (candidate.device->counters.empty()) return;
  std::map<std::string, Int128>& left = counters_.at(candidate.slice->pool);
  for (const CounterUse& use : candidate.device->counters) left[use.counter] += use.amount.nanos;
}

}  // namespace hekla::scheduler
