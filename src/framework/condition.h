// Conditions of a status as a type. The bookkeeping differs between families of kinds in small
// ways; those are data (ConditionRules).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "framework/any_object.h"
#include "json/value.h"

namespace hekla::framework {

// Null when there is none of the type.
const json::Value* find_condition(const json::Array& conditions, std::string_view type);
// status.conditions; empty when there are none.
const json::Array& conditions_of(const AnyObject& object);

struct Condition {
  std::string type, status = "True", reason, message;
};

struct ConditionRules {
  // Members beside lastTransitionTime that carry the time of a change: lastUpdateTime (training,
  // Deployments), lastProbeTime (Jobs).
  std::vector<std::string> time_members;
  // A changed condition goes to the end of the list: `kubectl get` shows the last one as State.
  bool newest_last = false;
  // With the same type, status and reason another message alone is no change.
  bool message_counts = true;
  // A condition that becomes True takes others out of the list: {Restarting, Running}.
  std::vector<std::pair<std::string, std::string>> removes;
  // A condition that becomes True makes others False, where they stand: {Succeeded, Running}.
  std::vector<std::pair<std::string, std::string>> falsifies;
  // Once one of these is True nothing changes any more.
  std::vector<std::string> terminal;
  // lastTransitionTime is that of the last change of status; true: of any change.
  bool any_change_is_transition = false;
};

// metav1.Condition as most kinds keep it: in place, transition time by status.
extern const ConditionRules kPlainConditions;
// The training operators': newest last, messages alone do not count, Running and Restarting
// exclude each other, Succeeded and Failed make Running False, Failed is final.
extern const ConditionRules kTrainingConditions;

// The conditions of one status while a round works on them. Conditions nobody sets stay as they
// are, members this type does not know included.
class Conditions {
 public:
  // Begins with status.conditions; `rules` outlives it.
  Conditions(const json::Value& status, const ConditionRules& rules, WallTime now);

  // True when the list has changed by it.
  bool set(const Condition& condition);
  bool remove(std::string_view type);
  bool is_true(std::string_view type) const;
  // Null when there is none of the type.
  const json::Value* find(std::string_view type) const;
  bool changed() const { return changed_; }
  const json::Array& list() const { return list_; }

 private:
  bool is_final() const;
  void stamp(json::Object& condition, bool transition) const;

  json::Array list_;
  const ConditionRules& rules_;
  WallTime now_;
  bool changed_ = false;
};

}  // namespace hekla::framework
