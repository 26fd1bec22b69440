// What one look at a described object leads to. Everything but the events without a condition is
// carried out as one batch, in this order: adoptions, the patch of the object, removals, edits,
// children, status. NO atomicity is promised: any member may fail and the process may die between
// two, and the next round must find its way from what it then sees. It does when reconcile decides
// from the view alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "framework/child.h"
#include "framework/events.h"

namespace hekla::framework {

struct Outcome {
  // Objects that shall exist. Absence removes only children of kinds that are marked `prune`; for
  // those every outcome names all that shall stay.
  std::vector<Child> children;
  std::vector<Removal> removals;
  std::vector<Edit> edits;
  // A merge patch of the described object itself; null or {}: none.
  json::Value patch;
  // The whole status the object shall have; members it does not name are taken away. Written when
  // it differs from what is stored. Absent: left alone.
  std::optional<json::Object> status;
  std::vector<Event> events;
  // Look again after this time even if nothing changes.
  std::optional<Nanos> again_after;
  // The outcome is carried out and the round then counts as failed: tried again with back-off.
  std::optional<Error> failure;
  // Of finalize only: nothing is left to be done, the finalizer goes.
  bool finalized = false;

  // The sooner of what was asked before and this.
  void again_in(Nanos delay);
  void tell(std::string type, std::string reason, std::string message);
  void tell_with_status(std::string type, std::string reason, std::string message);
};

}  // namespace hekla::framework
