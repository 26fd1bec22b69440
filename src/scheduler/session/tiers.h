// How the answers of several plugins become one. Every hook is evaluated by the same walk over
// tiers; only the rule differs.
#pragma once

#include <algorithm>
#include <vector>

#include "scheduler/session/plugin.h"

namespace hekla::scheduler {

// The plugins that answer one hook, by tier; tiers without any are left out.
using TieredPlugins = std::vector<std::vector<Plugin*>>;

// take() and end_of_tier() return true when the answer is settled and nobody else is asked.
template <class Rule, class Ask>
auto evaluate(const TieredPlugins& tiers, Ask ask, Rule rule = {}) {
  for (const std::vector<Plugin*>& tier : tiers) {
    for (Plugin* plugin : tier)
      if (rule.take(ask(*plugin))) return rule.answer();
    if (rule.end_of_tier()) return rule.answer();
  }
  return rule.answer();
}

// Orders: the first answer that is not zero.
struct FirstDecisive {
  int value = 0;
  bool take(int answer) { return (value = answer) != 0; }
  bool end_of_tier() { return false; }
  int answer() const { return value; }
};

// Everybody must agree; with nobody to ask the answer is yes.
struct Unanimous {
  bool agreed = true;
  bool take(bool answer) { return !(agreed = answer); }
  bool end_of_tier() { return false; }
  bool answer() const { return agreed; }
};

// One suffices.
struct AnyOne {
  bool found = false;
  bool take(bool answer) { return found = answer; }
  bool end_of_tier() { return false; }
  bool answer() const { return found; }
};

// Votes: a rejection settles it at once, even after a permit in the same tier; a tier with a permit
// settles it; with neither anywhere the answer is yes.
struct TierVote {
  bool permitted = false, rejected = false;
  bool take(Vote vote) {
    permitted |= vote == Vote::permit;
    return rejected = vote == Vote::reject;
  }
  bool end_of_tier() { return permitted; }
  bool answer() const { return !rejected; }
};

// All of the first tier that answers at all; with nobody to ask the answer is no.
struct FirstTierUnanimous {
  bool asked = false, agreed = true;
  bool take(bool answer) {
    asked = true;
    agreed &= answer;
    return false;
  }
  bool end_of_tier() { return asked; }
  bool answer() const { return asked && agreed; }
};

// Victims: within a tier the sets of all who do not abstain are intersected; the first tier that
// has something left decides. An empty answer empties its tier and ends the asking there; the next
// tier starts anew.
struct TierIntersection {
  bool started = false, tier_over = false;
  std::vector<TaskId> left;
  bool take(Victims victims) {
    if (tier_over || victims.abstain) return false;
    if (victims.tasks.empty()) {
      left.clear();
      tier_over = true;
    } else if (!started) {
      left = std::move(victims.tasks);
      started = true;
    } else {
      std::erase_if(left, [&](TaskId task) {
        return std::find(victims.tasks.begin(), victims.tasks.end(), task) == victims.tasks.end();
      });
    }
    return false;
  }
  bool end_of_tier() {
    tier_over = started = false;
    return !left.empty();
  }
  std::vector<TaskId> answer() const { return left; }
};

// Victims for no one in particular: all that the plugins of the first tier with any name.
struct TierUnion {
  std::vector<TaskId> named;
  bool take(const std::vector<TaskId>& tasks) {
    for (TaskId task : tasks)
      if (std::find(named.begin(), named.end(), task) == named.end()) named.push_back(task);
    return false;
  }
  bool end_of_tier() { return !named.empty(); }
  std::vector<TaskId> answer() const { return named; }
};

// The first that names something.
template <class T>
struct FirstNamed {
  T value{};
  bool take(T answer) {
    value = answer;
    return value.valid();
  }
  bool end_of_tier() { return false; }
  T answer() const { return value; }
};

}  // namespace hekla::scheduler
