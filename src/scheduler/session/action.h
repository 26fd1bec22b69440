// A step of a session: enqueue, allocate, backfill. One file per action under scheduler/actions,
// which exports a `const ActionInfo action_<file name>`.
#pragma once

#include <span>
#include <string_view>

namespace hekla::scheduler {

class Session;
class Arguments;

struct ActionInfo {
  std::string_view name;
  std::string_view summary;
  void (*execute)(Session& session, const Arguments& arguments);
  std::string_view arguments = {};  // their names, by spaces
};

// Generated from the files in scheduler/actions.
std::span<const ActionInfo* const> all_actions();

}  // namespace hekla::scheduler
