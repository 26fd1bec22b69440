#include "apiserver/write/side_writes.h"

#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/write/managed_fields.h"

namespace hekla::apiserver {

std::vector<SideWrite> side_objects(const WriteScope& scope, const kube::Resource& resource,
                                    const std::string& ns) {
  std::vector<SideWrite> found;
  ServedPtr served = scope.catalog.find(resource);
  if (!served || ns.empty()) return found;
  const std::string prefix = ns + "/";
  scope.snapshot.scan(served->bucket, prefix, prefix, [&](const store::ItemPtr& item) {
    if (scope.staged)
      if (auto staged = scope.staged->find({served->bucket, item->key});
          staged != scope.staged->end()) {
        found.push_back(staged->second);
        return true;
      }
    found.push_back({served, item->key, decode_object(*served, *item), item->modified});
    return true;
  });
  return found;
}

void add_side_write(WriteScope& scope, const json::Value& before, SideWrite changed) {
  const Kind& kind = *changed.served->kind;
  if (kind.schema)
    track_update(kind, &before, changed.object,
                 {"kube-apiserver", kind.resource.api_version(), "status"}, scope.now);
  const std::pair key{changed.served->bucket, changed.key};
  scope.sides.insert_or_assign(key, std::move(changed));
}

store::Write encode_side_write(SideWrite side) {
  EncodedObject encoded = encode_object(*side.served, side.object);
  store::Write write;
  write.op = store::Write::Op::put;
  write.bucket = side.served->bucket;
  write.key = std::move(side.key);
  write.value = std::move(encoded.bytes);
  write.revision_at = encoded.revision_at;
  write.attachment = std::move(encoded.header);
  write.expect = {store::Expect::Kind::revision, side.expected};
  return write;
}

}  // namespace hekla::apiserver
