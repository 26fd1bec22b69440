#include "apiserver/write/coupled_writes.h"

#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/write/managed_fields.h"
#include "base/check.h"

namespace hekla::apiserver {

std::vector<CoupledWrite> coupled_objects(const WriteScope& scope, const kube::Resource& resource,
                                          const std::string& ns) {
  std::vector<CoupledWrite> found;
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

void add_coupled_write(WriteScope& scope, const json::Value& before, CoupledWrite changed) {
  CHECK(changed.served && !changed.key.empty() && changed.expected > 0,
        "a coupled write is of an object that was read");
  const Kind& kind = *changed.served->kind;
  if (kind.schema)
    track_update(kind, &before, changed.object,
                 {"kube-apiserver", kind.resource.api_version(), "status"}, scope.now);
  const std::pair key{changed.served->bucket, changed.key};
  scope.coupled.insert_or_assign(key, std::move(changed));
}

store::Write encode_coupled_write(CoupledWrite one) {
  EncodedObject encoded = encode_object(*one.served, one.object);
  store::Write write;
  write.op = store::Write::Op::put;
  write.bucket = one.served->bucket;
  write.key = std::move(one.key);
  write.value = std::move(encoded.bytes);
  write.revision_at = encoded.revision_at;
  write.attachment = std::move(encoded.header);
  write.expect = {store::Expect::Kind::revision, one.expected};
  return write;
}

}  // namespace hekla::apiserver
