#include "apiserver/object_header.h"

#include <algorithm>

namespace hekla::apiserver {

namespace {

const std::string* lookup(const std::vector<std::pair<std::string, std::string>>& sorted,
                          std::string_view key) {
  auto found = std::lower_bound(sorted.begin(), sorted.end(), key,
                                [](const auto& entry, std::string_view k) { return entry.first < k; });
  return found == sorted.end() || found->first != key ? nullptr : &found->second;
}

}  // namespace

const std::string* ObjectHeader::label(std::string_view key) const { return lookup(labels, key); }
const std::string* ObjectHeader::field(std::string_view key) const { return lookup(fields, key); }

std::shared_ptr<ObjectHeader> make_header(const Kind* kind, const json::Value& object) {
  auto header = std::make_shared<ObjectHeader>();
  header->name = json::string_at(object, {"metadata", "name"});
  header->ns = json::string_at(object, {"metadata", "namespace"});
  header->uid = json::string_at(object, {"metadata", "uid"});
  if (const json::Object* labels = json::object_at(object, {"metadata", "labels"})) {
    header->labels.reserve(labels->size());
    for (const auto& member : *labels)
      if (member.value().is_string())
        header->labels.emplace_back(std::string(member.key()),
                                    std::string(json::sv(member.value().get_string())));
    std::sort(header->labels.begin(), header->labels.end());
  }
  if (const json::Array* owners = json::array_at(object, {"metadata", "ownerReferences"}))
    for (const json::Value& owner : *owners)
      header->owner_uids.emplace_back(json::string_at(owner, {"uid"}));
  const json::Value* deleted = json::find_path(object, {"metadata", "deletionTimestamp"});
  header->deleting = deleted && !deleted->is_null();
  const json::Array* finalizers = json::array_at(object, {"metadata", "finalizers"});
  header->has_finalizers = finalizers && !finalizers->empty();
  if (kind && !kind->custom)
    for (const auto& [field, value_of] : kind->selectable)  // an ordered map: the result is sorted
      if (std::string value = value_of(object); !value.empty())
        header->fields.emplace_back(field, std::move(value));
  return header;
}

}  // namespace hekla::apiserver
