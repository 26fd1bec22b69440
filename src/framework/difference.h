// The comparison of a wanted child with the live object. Pure; for the runtime.
#pragma once

#include <string>

#include "framework/child.h"

namespace hekla::framework {

// Where a child is, or will be; the name is empty when the server is to choose it.
kube::Key child_key(const Child& child, const model::ObjectMeta& owner);

// The whole body of a child: base and body merged, apiVersion, kind, namespace and owner filled in.
json::Value child_body(const Child& child, const kube::Resource& owner_resource,
                       const model::ObjectMeta& owner);

// Whether every member of the wanted body stands in the live object. Lists are compared place by
// place; what is empty matches what is missing. Of the metadata, labels and annotations count; the
// status is somebody else's.
bool covers(const AnyObject& live, const json::Value& wanted);
// The values of the live object where the wanted body has some: how the server has written them
// ("1000m" as "1").
json::Value projection(const AnyObject& live, const json::Value& wanted);

}  // namespace hekla::framework
