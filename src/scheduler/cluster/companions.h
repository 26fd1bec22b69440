// Objects beside nodes, pods, groups and queues that only some plugins read: volumes, hypernodes,
// quotas, budgets. Kept by kind as they came; each kind has a log of changes, so that a reader
// digests an object once per change and never in a cycle. Part of Cluster, single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/codec.h"
#include "model/meta.h"

namespace hekla::scheduler {

// Any object: its metadata, and everything else.
struct Companion {
  model::ObjectMeta metadata;
  json::Value body;

  static Result<Companion> from_node(const json::Node& node);
  static Result<Companion> from_json(const json::Value& value) { return from_node(value); }
  json::Value to_json() const;
  // "namespace/name", or the name alone.
  std::string key() const {
    return metadata.ns.empty() ? metadata.name : metadata.ns + "/" + metadata.name;
  }
};

enum class CompanionKind : std::uint8_t {
  hyper_node,
  claim,
  volume,
  storage_class,
  csi_node,
  name_space,
  quota,
  disruption_budget,
  numa_topology,
  resource_claim,
  resource_slice,
  device_class,
};
// The API's words for them, in the same order.
inline constexpr std::array<std::string_view, 12> kCompanionKinds{
    "HyperNode",        "PersistentVolumeClaim",
    "PersistentVolume", "StorageClass",
    "CSINode",          "Namespace",
    "ResourceQuota",    "PodDisruptionBudget",
    "Numatopology",     "ResourceClaim",
    "ResourceSlice",    "DeviceClass"};
std::optional<CompanionKind> companion_kind(std::string_view word);

class Companions {
 public:
  using Ref = std::shared_ptr<const Companion>;
  using Objects = std::map<std::string, Ref, std::less<>>;  // by key

  // false: it says nothing new.
  bool put(CompanionKind kind, const Companion& object);
  bool remove(CompanionKind kind, const Companion& object);

  const Objects& all(CompanionKind kind) const { return kinds_[index(kind)].objects; }
  // Null when there is none.
  const Companion* find(CompanionKind kind, std::string_view key) const;
  // Rises with every change.
  std::uint64_t version(CompanionKind kind) const {
    return kinds_[index(kind)].base + kinds_[index(kind)].log.size();
  }
  // The keys that changed since a version; nullopt: too long ago, look at all.
  std::optional<std::span<const std::string>> changed_since(CompanionKind kind,
                                                            std::uint64_t version) const;
  // Brings a reader up to date: digest(key, object) for all that changed since `seen`, with null
  // for what is gone. `each_known(visit)` visits the keys the reader has.
  template <class EachKnown, class Digest>
  void catch_up(CompanionKind kind, std::uint64_t& seen, EachKnown each_known, Digest digest) const;

 private:
  struct Kind {
    Objects objects;
    std::vector<std::string> log;
    std::uint64_t base = 0;
  };
  static std::size_t index(CompanionKind kind) { return static_cast<std::size_t>(kind); }
  void note(Kind& kind, std::string key);

  std::array<Kind, kCompanionKinds.size()> kinds_;
};

template <class EachKnown, class Digest>
void Companions::catch_up(CompanionKind kind, std::uint64_t& seen, EachKnown each_known,
                          Digest digest) const {
  if (seen == version(kind)) return;
  if (auto changed = changed_since(kind, seen)) {
    for (const std::string& key : *changed) digest(key, find(kind, key));
  } else {
    std::vector<std::string> gone;
    each_known([&](const std::string& key) {
      if (find(kind, key) == nullptr) gone.push_back(key);
    });
    for (const std::string& key : gone) digest(key, nullptr);
    for (const auto& [key, object] : all(kind)) digest(key, object.get());
  }
  seen = version(kind);
}

}  // namespace hekla::scheduler
