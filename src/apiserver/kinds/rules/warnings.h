// Warnings of objects that are accepted all the same: answers carry these texts as Warning headers,
// and kubectl prints them.
#pragma once

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

// Empty for kinds nobody is warned about.
WarningsOfObject warnings_of(const kube::Resource& resource);

}  // namespace hekla::apiserver
