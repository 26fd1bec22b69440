// Where the API has the kinds of cluster/companions.h.
#pragma once

#include <span>

#include "kube/client.h"

namespace hekla::scheduler {

std::span<const kube::Resource> companion_resources();

}  // namespace hekla::scheduler
