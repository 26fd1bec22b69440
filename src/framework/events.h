// Events as data: a text, and what has to happen before it is said.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/events.h"

namespace hekla::framework {

// An event for `kubectl describe`. `type` is Normal or Warning.
struct EventText {
  std::string type, reason, message;
  bool operator==(const EventText&) const = default;
};

// An event of an outcome.
struct Event {
  EventText text;
  // Whom it is about; the described object when absent.
  std::optional<kube::EventTarget> about = {};
  // Said only when this round's write of the object's status succeeds. An outcome whose status is
  // already stored has no such write, so a transition is announced once, also when the round that
  // made it is repeated after a failure or a crash.
  bool with_status = false;
};

// Texts about what became of a child's write. In reasons and messages these words are filled in:
//   {name} and {kind} of the child, {lower-kind}, {owner}, {owner-kind} and {namespace} of the
//   described object, {error} of the server, {reason} of a Removal.
// A write whose text is absent is not told of.
struct ChildWords {
  std::optional<EventText> created, create_failed;
  std::optional<EventText> changed, change_failed;
  std::optional<EventText> removed, remove_failed;
  // A wanted child's name belongs to an object that something else controls.
  std::optional<EventText> taken;
  // Instead of create_failed, by the reason of one of the error's causes ("NamespaceTerminating").
  std::vector<std::pair<std::string, EventText>> refused_for;
};

// What the placeholders of a text stand for.
struct WordValues {
  std::string name, kind, owner, owner_kind, ns, error, reason;
};
EventText filled(const EventText& text, const WordValues& values);

}  // namespace hekla::framework
