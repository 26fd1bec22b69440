// apps/v1 StatefulSet.
#pragma once

#include "apiserver/kind.h"

namespace hekla::apiserver {

Kind stateful_set_kind();

}  // namespace hekla::apiserver
