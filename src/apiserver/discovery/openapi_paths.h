// The operations on a kind, in either version's form.
#pragma once

#include <string>

#include "apiserver/discovery/openapi_schema.h"

namespace hekla::apiserver {

// Adds the kind's paths, and through `schemas` whatever they refer to.
void add_paths(const Kind& kind, OpenApiVersion version, OpenApiSchemas& schemas,
               json::Object& paths);

}  // namespace hekla::apiserver
