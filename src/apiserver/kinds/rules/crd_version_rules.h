// The rules for one version of a CRD.
#pragma once

#include <string>
#include <vector>

#include "apiserver/schema/schema.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// Everything about the version at `field` but its schema, which may be null when it is wrong.
void validate_crd_version(const std::string& field, const json::Value& version,
                          const Schema* schema, std::vector<Cause>& causes);

}  // namespace hekla::apiserver
