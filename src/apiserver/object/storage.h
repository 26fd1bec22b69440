// Objects at rest: compact JSON in the storage version, always beginning with apiVersion and kind,
// with the revision's digits left out until the commit. Because the beginning is known
// (ObjectHeader::body_at), another version's apiVersion, or the bare item of a built-in list, is a
// matter of gluing bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apiserver/object/object_header.h"
#include "apiserver/object/registry.h"
#include "json/arena.h"
#include "json/value.h"
#include "kube/client.h"
#include "store/store.h"

namespace hekla::apiserver {

// "<namespace>/<name>" or "<name>".
std::string storage_key(const Kind& kind, const kube::Key& key);

// The room a writer leaves for the digits that the store fills in.
inline constexpr std::size_t kLongestRevision = 20;

struct EncodedObject {
  std::string bytes;
  std::uint32_t revision_at = store::Item::kNoRevision;
  std::shared_ptr<const ObjectHeader> header;
};
// `object` is in the served kind's version and is left in the storage version. Whatever
// metadata.resourceVersion it carries is dropped.
EncodedObject encode_object(const ServedKind& served, json::Value& object);

// An item that is not (yet) in the store: the answer to a dry run. Revision 0 leaves
// resourceVersion out.
store::ItemPtr unsaved_item(const ServedKind& served, json::Value object, store::Revision revision);

// The object as `served` shows it: parsed, in its version and shape, with its resourceVersion.
json::Value decode_object(const ServedKind& served, const store::Item& item,
                          json::Storage storage = {});

enum class WireForm { whole, list_item };
// The same as bytes. `revision` replaces the item's own where a watch demands it. Items of built-in
// lists carry neither apiVersion nor kind.
void append_object(const ServedKind& served, const store::Item& item, WireForm form,
                   std::string& out, std::optional<store::Revision> revision = {});

// How many bytes that appends; unknown where the object has to be decoded for it.
std::optional<std::size_t> object_size(const ServedKind& served, const store::Item& item,
                                       WireForm form);

// For in-process clients: shares the stored bytes where the version is the stored one.
kube::ObjectPtr to_kube_object(const ServedKind& served, const store::ItemPtr& item,
                               std::optional<store::Revision> revision = {});

}  // namespace hekla::apiserver
