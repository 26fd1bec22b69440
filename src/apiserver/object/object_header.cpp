#include "apiserver/object/object_header.h"

#include <algorithm>

#include "base/check.h"

namespace hekla::apiserver {

namespace {

template <class Key>
const std::string* lookup(const std::vector<std::pair<Key, std::string>>& sorted,
                          std::string_view key) {
  auto found =
      std::lower_bound(sorted.begin(), sorted.end(), key,
                       [](const auto& entry, std::string_view k) { return entry.first < k; });
  return found == sorted.end() || found->first != key ? nullptr : &found->second;
}

void read_labels(const json::Node& labels, ObjectHeader& header) {
  labels.for_each_member([&](std::string_view key, const json::Node& value) {
    if (value.is_string()) header.labels.emplace_back(key, value.get_string());
    return true;
  });
  std::sort(header.labels.begin(), header.labels.end());
}

void read_metadata(const json::Node& metadata, ObjectHeader& header) {
  metadata.for_each_member([&](std::string_view member, const json::Node& value) {
    if (member == "deletionTimestamp") {
      header.deleting = !value.is_null();
    } else if (value.is_string()) {
      if (member == "name")
        header.name = value.get_string();
      else if (member == "namespace")
        header.ns = value.get_string();
      else if (member == "uid")
        header.uid = value.get_string();
    } else if (member == "labels" && value.is_object()) {
      read_labels(value, header);
    } else if (member == "finalizers" && value.is_array()) {
      header.has_finalizers = value.size() > 0;
    }
    return true;
  });
}

}  // namespace

const std::string* ObjectHeader::label(std::string_view key) const { return lookup(labels, key); }
const std::string* ObjectHeader::field(std::string_view key) const { return lookup(fields, key); }

void ObjectHeader::set_field(const Kind& kind, std::string_view key, std::string_view value) {
  auto known = kind.selectable.find(std::string(key));
  CHECK(known != kind.selectable.end(), "a selectable field");
  auto at =
      std::ranges::lower_bound(fields, key, {}, &std::pair<std::string_view, std::string>::first);
  if (at == fields.end() || at->first != key) at = fields.emplace(at, known->first, "");
  at->second = value;
}

std::shared_ptr<ObjectHeader> make_header(const Kind* kind, const json::Node& object) {
  auto header = std::make_shared<ObjectHeader>();
  const std::optional<json::Node> metadata = json::find_path(object, {"metadata"});
  if (metadata && metadata->is_object()) read_metadata(*metadata, *header);
  if (!kind || kind->custom) return header;
  header->fields.reserve(kind->selectable.size());
  for (const auto& [field, value_of] : kind->selectable)  // an ordered map: the result is sorted
    if (std::string value = value_of(object); !value.empty())
      header->fields.emplace_back(field, std::move(value));
  return header;
}

}  // namespace hekla::apiserver
