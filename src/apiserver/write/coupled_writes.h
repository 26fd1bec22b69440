// The objects a write changes besides its own (CoupledWrites, write_scope.h): read, changed,
// encoded.
#pragma once

#include <string>
#include <vector>

#include "apiserver/object/write_scope.h"
#include "json/value.h"
#include "store/store.h"

namespace hekla::apiserver {

// All objects of a resource in a namespace, as the writes before this one in its commit leave them.
std::vector<CoupledWrite> coupled_objects(const WriteScope& scope, const kube::Resource& resource,
                                          const std::string& ns);

// Makes the changed object part of the write, under the server's own name in managedFields.
void add_coupled_write(WriteScope& scope, const json::Value& before, CoupledWrite changed);

store::Write encode_coupled_write(CoupledWrite side);

}  // namespace hekla::apiserver
