// The facts about a stored object that are needed without parsing it: kept beside the bytes as
// the store's Attachment. Selectors and list rendering work on headers alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/object/kind.h"
#include "base/check.h"
#include "kube/decoded.h"
#include "store/store.h"

namespace hekla::apiserver {

struct ObjectHeader final : store::Attachment {
  std::string ns, name, uid;
  std::vector<std::pair<std::string, std::string>> labels;  // sorted by key
  // Non-empty selectable fields of the storage kind, by the names it has for them; only built-in
  // kinds, which are there for ever, are indexed.
  std::vector<std::pair<std::string_view, std::string>> fields;
  // Where the first member after apiVersion and kind begins in the stored bytes.
  std::uint32_t body_at = 0;
  bool deleting = false;
  bool has_finalizers = false;
  // Of the stored bytes, for the in-process client's readers.
  mutable kube::Decoded decoded;

  // Null when absent.
  const std::string* label(std::string_view key) const;
  const std::string* field(std::string_view key) const;
  // One of the kind's selectable fields.
  void set_field(const Kind& kind, std::string_view key, std::string_view value);
};

// `kind` may be null: then nothing is indexed.
std::shared_ptr<ObjectHeader> make_header(const Kind* kind, const json::Node& object);

inline const ObjectHeader& header_of(const store::Item& item) {
  CHECK(item.attachment, "every item of this server has a header");
  return static_cast<const ObjectHeader&>(*item.attachment);
}

}  // namespace hekla::apiserver
