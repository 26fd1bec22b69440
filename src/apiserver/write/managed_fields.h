// metadata.managedFields: who wrote which field. Every write by POST, PUT or PATCH is an "Update"
// of its manager; server-side apply is an "Apply" (apply.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"
#include "apiserver/write/field_set.h"
#include "base/clock.h"
#include "json/value.h"

namespace hekla::apiserver {

// Owns what the server wrote by itself, until somebody else writes it.
inline constexpr std::string_view kBootstrapManager = "hekla-bootstrap";

struct FieldOwner {
  std::string manager;
  std::string api_version;
  std::string subresource;
  bool apply = false;
  bool operator==(const FieldOwner&) const = default;
};

struct ManagedEntry {
  FieldOwner owner;
  std::string time;
  FieldSet fields;
  json::Value* unread = nullptr;  // the entry as it is stored, where its fields need not be known
};

std::vector<ManagedEntry> read_managed_fields(const json::Value& object);
void write_managed_fields(json::Value& object, const std::vector<ManagedEntry>& entries);

// Records the step from `live` (null: a new object) to `object` as an update by `owner` and writes
// the outcome into `object`. An entry whose fields do not change keeps its time, so that a no-op
// stays one.
void track_update(const Kind& kind, const json::Value* live, json::Value& object,
                  const FieldOwner& owner, WallTime now);

// Fields nobody owns: identity and what the server sets; and, for writes of the main resource,
// status.
void strip_unowned(const Kind& kind, std::string_view subresource, FieldSet& fields);

// The manager of a request: its fieldManager, else the user agent up to the first slash.
std::string manager_name(std::string_view field_manager, std::string_view user_agent);

}  // namespace hekla::apiserver
