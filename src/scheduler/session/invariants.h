// What must hold after every session, as named checkers: used by scenarios, random tests and the
// simulator. Each returns what is wrong, or nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/cluster/cluster.h"
#include "scheduler/session/configuration.h"
#include "scheduler/session/decisions.h"

namespace hekla::scheduler::invariants {

// Every count and account equals what one gets by adding up the tasks anew.
std::string accounts_add_up(const Cluster& cluster, const Decisions& decisions);

// accounts-add-up, nothing-left-over, bound-once, no-overcommit, no-victim-in-vain,
// gang-all-or-none, within-capability.
std::string check(std::string_view name, const Cluster& cluster, const Decisions& decisions);

// The names of those that hold with these plugins. `cheap`: that cost no more than the decisions
// they judge.
std::vector<std::string_view> expected_of(const Configuration& configuration, bool cheap = false);

}  // namespace hekla::scheduler::invariants
