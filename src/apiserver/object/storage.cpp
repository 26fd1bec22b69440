#include "apiserver/object/storage.h"

#include <array>

#include "base/check.h"
#include "json/parse.h"
#include "json/view.h"

namespace hekla::apiserver {

namespace {

// {"apiVersion":"batch/v1","kind":"Job",
std::string head_of(const Kind& kind) {
  std::string head = "{\"apiVersion\":\"";
  head += kind.resource.api_version();
  head += "\",\"kind\":\"";
  head += kind.resource.kind;
  head += "\",";
  return head;
}

// The bytes of a custom resource may have been written when its CRD had another storage version.
bool in_storage_version(const ServedKind& served, const store::Item& item) {
  if (!served.kind->custom) return true;
  constexpr std::size_t kVersionAt = std::string_view("{\"apiVersion\":\"").size();
  std::string_view rest = std::string_view(item.value).substr(kVersionAt);
  const std::string& version = served.kind->storage.version;
  return rest.starts_with(version) && rest.substr(version.size()).starts_with('"');
}

// Written before its CRD said what it says now.
bool of_older_schema(const ServedKind& served, const store::Item& item) {
  return item.modified < served.schema_since && served.storage->schema &&
         in_storage_version(served, item);
}

bool converted_by_name(const Kind& kind) {
  return kind.custom && !kind.storage.conversion && kind.schema;
}

// Written in another version than is asked for, and converted by its name alone: it may have
// members that this version does not know.
bool of_other_version(const ServedKind& served, const store::Item& item) {
  return converted_by_name(*served.kind) &&
         (served.kind != served.storage || !in_storage_version(served, item));
}

// Whether the bytes can be shown as they are.
bool stored_as_served(const ServedKind& served, const store::Item& item) {
  return served.kind == served.storage && in_storage_version(served, item) &&
         !of_older_schema(served, item);
}

bool same_shape(const ServedKind& served, const store::Item& item) {
  if (of_older_schema(served, item) || of_other_version(served, item)) return false;
  return served.kind == served.storage ||
         (!served.kind->storage.from_stored && !served.kind->storage.to_stored);
}

void append_member(std::string_view key, const json::Value& value, bool& first, std::string& out) {
  if (!first) out += ',';
  first = false;
  json::append_quoted(key, out);
  out += ':';
  json::serialize_to(value, out);
}

constexpr std::array<std::string_view, 4> kLeading{"name", "generateName", "namespace", "uid"};

// A buffer that a thread keeps for the next object.
constexpr std::size_t kKeptScratch = std::size_t{1} << 16;

// Returns the offset for the revision's digits.
std::uint32_t append_metadata(const json::Object& metadata, std::string& out, bool with_revision) {
  std::uint32_t revision_at = store::Item::kNoRevision;
  bool first = true;
  out += '{';
  for (std::string_view key : kLeading)
    if (const json::Value* value = json::find(metadata, key))
      append_member(key, *value, first, out);
  if (with_revision) {
    if (!first) out += ',';
    first = false;
    out += "\"resourceVersion\":\"";
    revision_at = static_cast<std::uint32_t>(out.size());
    out += '"';
  }
  for (const auto& member : metadata) {
    std::string_view key = member.key();
    if (key == "resourceVersion" ||
        std::find(kLeading.begin(), kLeading.end(), key) != kLeading.end())
      continue;
    append_member(key, member.value(), first, out);
  }
  out += '}';
  return revision_at;
}

EncodedObject encode(const ServedKind& served, json::Value& object, bool with_revision) {
  const Kind& storage = *served.storage;
  if (served.kind != served.storage && served.kind->storage.to_stored)
    served.kind->storage.to_stored(object);
  if (served.kind != served.storage && converted_by_name(storage)) {
    prune(*storage.schema, object);
    apply_defaults(*storage.schema, object);  // as reading in the storage version does
  }
  EncodedObject encoded;
  std::shared_ptr<ObjectHeader> header = make_header(&storage, object);
  thread_local std::string scratch;
  scratch.clear();
  scratch += head_of(storage);
  header->body_at = static_cast<std::uint32_t>(scratch.size());
  static const json::Object kNoMetadata;
  const json::Object* metadata = json::object_at(object, {"metadata"});
  scratch += "\"metadata\":";
  encoded.revision_at = append_metadata(metadata ? *metadata : kNoMetadata, scratch, with_revision);
  bool first = false;
  if (object.is_object())
    for (const auto& member : object.get_object())
      if (std::string_view key = member.key();
          key != "apiVersion" && key != "kind" && key != "metadata")
        append_member(key, member.value(), first, scratch);
  scratch += '}';
  // As large as it is going to be: the store keeps such bytes without copying them.
  encoded.bytes.reserve(scratch.size() + kLongestRevision);
  encoded.bytes = scratch;
  if (scratch.capacity() > kKeptScratch) std::string().swap(scratch);
  encoded.header = std::move(header);
  return encoded;
}

}  // namespace

std::string storage_key(const Kind& kind, const kube::Key& key) {
  if (!kind.resource.namespaced) return key.name;
  std::string text;
  text.reserve(key.ns.size() + key.name.size() + 1);
  text.append(key.ns).append("/").append(key.name);
  return text;
}

EncodedObject encode_object(const ServedKind& served, json::Value& object) {
  CHECK(served.kind && served.storage, "a served kind is stored as something");
  CHECK(object.is_object(), "only objects are stored");
  return encode(served, object, true);
}

store::ItemPtr unsaved_item(const ServedKind& served, json::Value object,
                            store::Revision revision) {
  EncodedObject encoded = encode(served, object, revision != 0);
  auto item = std::make_shared<store::Item>();
  item->key = storage_key(*served.kind, {encoded.header->ns, encoded.header->name});
  item->modified = revision;
  item->value = std::move(encoded.bytes);
  item->revision_at = encoded.revision_at;
  if (revision != 0) item->value.insert(encoded.revision_at, std::to_string(revision));
  item->attachment = std::move(encoded.header);
  return item;
}

json::Value decode_object(const ServedKind& served, const store::Item& item,
                          json::Storage storage) {
  Result<json::Value> object = json::parse(item.value, std::move(storage));
  CHECK(object.has_value(), "stored bytes were serialized by us");
  if (!stored_as_served(served, item)) {
    if (of_older_schema(served, item)) {
      prune(*served.storage->schema, *object);
      apply_defaults(*served.storage->schema, *object);
    }
    if (served.kind->storage.from_stored) {
      served.kind->storage.from_stored(*object);
      if (!served.kind->custom) {
        normalize(*served.kind->schema, *object);
        fill_zeros(*served.kind->schema, *object);
      }
    }
    if (of_other_version(served, item)) prune(*served.kind->schema, *object);
    object->get_object()["apiVersion"] = served.kind->resource.api_version();
    object->get_object()["kind"] = served.kind->resource.kind;
  }
  return std::move(*object);
}

void append_object(const ServedKind& served, const store::Item& item, WireForm form,
                   std::string& out, std::optional<store::Revision> revision) {
  const bool bare = form == WireForm::list_item && !served.kind->custom;
  if (!same_shape(served, item)) {
    json::Value object = decode_object(served, item);
    if (revision)
      json::at_path(object, {"metadata", "resourceVersion"}) = std::to_string(*revision);
    if (bare) {
      object.get_object().erase("apiVersion");
      object.get_object().erase("kind");
    }
    json::serialize_to(object, out);
    return;
  }
  std::string other;
  std::string_view bytes = item.value;
  if (revision && *revision != item.modified) bytes = other = item.value_with_revision(*revision);
  if (bare) {
    out += '{';
  } else if (stored_as_served(served, item)) {
    out.append(bytes);
    return;
  } else {
    out += head_of(*served.kind);
  }
  out.append(bytes.substr(header_of(item).body_at));
}

std::optional<std::size_t> object_size(const ServedKind& served, const store::Item& item,
                                       WireForm form) {
  if (!same_shape(served, item)) return std::nullopt;
  const std::size_t body = item.value.size() - header_of(item).body_at;
  if (form == WireForm::list_item && !served.kind->custom) return 1 + body;
  return stored_as_served(served, item) ? item.value.size() : head_of(*served.kind).size() + body;
}

kube::ObjectPtr to_kube_object(const ServedKind& served, const store::ItemPtr& item,
                               std::optional<store::Revision> revision) {
  const ObjectHeader& header = header_of(*item);
  auto object = std::make_shared<kube::Object>();
  object->ns = header.ns;
  object->name = header.name;
  object->uid = header.uid;
  object->resource_version = revision.value_or(item->modified);
  if (stored_as_served(served, *item) && object->resource_version == item->modified) {
    object->json = std::shared_ptr<const std::string>(item, &item->value);
    object->decoded = std::shared_ptr<kube::Decoded>(item, &header.decoded);
  } else {
    std::string bytes;
    append_object(served, *item, WireForm::whole, bytes, revision);
    object->json = std::make_shared<const std::string>(std::move(bytes));
  }
  return object;
}

}  // namespace hekla::apiserver
