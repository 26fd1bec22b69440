// Artifacts of pipelines in the object store, past HTTP: what the steps' launcher stores is the
// object that S3 clients see.
#pragma once

#include <memory>

#include "objects/object_store.h"
#include "pipelines/object_bytes.h"

namespace hekla {

// The store outlives it. A bucket that is missing is made by the first object put into it.
std::unique_ptr<pipelines::ObjectBytes> artifact_bytes(objects::ObjectStore& store);

}  // namespace hekla
