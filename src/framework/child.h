// Children as data. A reconcile function says which objects shall exist beside the described one;
// the runtime (kind_controller.h) compares them with what exists and makes the difference.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "framework/any_object.h"
#include "framework/events.h"

namespace hekla::framework {

// On a child that is applied or recreated: the hash of the body it was made from.
inline constexpr const char* kWantedHash = "hekla.io/wanted-hash";

// How a wanted child is kept.
enum class Care {
  // As wanted, always: made by server-side apply and applied again when the wanted body changes or
  // when somebody has edited one of its members. Members that others add stay.
  apply,
  // Made when it is missing and then left alone: pods, claims, secrets with generated contents. One
  // that exists need not be listed again, unless its kind is pruned.
  create_once,
  // Made when missing; removed and made again when the wanted body has changed (what cannot be
  // edited: jobs, pods that follow their template).
  recreate,
};

// Children that are not controlled may be wanted by several objects: that one exists already is no
// failure then.
enum class Ownership {
  controller,  // with a controller reference: wakes its owner, is found by View, goes with it
  dependent,   // with a plain owner reference: goes with its owner
  none,        // outlives it, or belongs to whom the body says
};

// One object that shall exist. `body` carries metadata.name, or metadata.generateName: a nameless
// child is made in every round that lists it, so it is listed only while one more is wanted.
// Filled in by the runtime: apiVersion, kind, the owner reference, the namespace of the described
// object unless the body names another or the resource has none.
struct Child {
  kube::Resource resource;
  json::Value body;
  // The part that all members of a set have in common, held once; `body` is merged over it (RFC
  // 7396), and is then small: a name, an index, a hostname. Null: `body` is the whole object.
  std::shared_ptr<const json::Value> base = nullptr;
  Care care = Care::apply;
  Ownership ownership = Ownership::controller;
  // Instead of the owned kind's words.
  std::shared_ptr<const ChildWords> words = nullptr;
};

// One object that shall go. Removing what is gone already is no error.
struct Removal {
  kube::Resource resource;
  kube::Key key;
  std::string uid;  // only that very object; empty: whatever bears the name
  std::optional<std::int64_t> grace_seconds = {};
  std::string propagation = "Background";  // empty: the kind's default
  std::string reason = {};                 // for the log and for {reason} in words
  std::shared_ptr<const ChildWords> words = nullptr;
};

// A merge patch of an object that exists: a finalizer taken from a pod, the replicas of a set.
struct Edit {
  kube::Resource resource;
  kube::Key key;
  json::Value merge;
  std::string uid = {};  // refused with a conflict when another object bears the name by now
  std::string subresource = {};
};

Removal removal_of(const kube::Resource& resource, const model::ObjectMeta& metadata,
                   std::string reason = {});

}  // namespace hekla::framework
