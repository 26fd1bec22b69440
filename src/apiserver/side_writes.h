// Objects a write changes besides its own: the quotas a pod is charged to, the disruption budget an
// eviction uses up. They land in the same commit or not at all.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/registry.h"
#include "json/value.h"
#include "store/store.h"

namespace hekla::apiserver {

struct WriteScope;

struct SideWrite {
  ServedPtr served;
  std::string key;  // in the store
  json::Value object;
  store::Revision expected = 0;  // what the object was read at
};
using SideWrites = std::map<std::pair<store::BucketId, std::string>, SideWrite>;

// All objects of a resource in a namespace, as the writes before this one in its commit leave them.
std::vector<SideWrite> side_objects(const WriteScope& scope, const kube::Resource& resource,
                                    const std::string& ns);

// Makes the changed object part of the write, under the server's own name in managedFields.
void add_side_write(WriteScope& scope, const json::Value& before, SideWrite changed);

store::Write encode_side_write(SideWrite side);

}  // namespace hekla::apiserver
