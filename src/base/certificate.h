// What certificates say about themselves.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace hekla {

// When a certificate (of several the first) ends to be valid.
Result<WallTime> certificate_end(const std::string& certificate_pem);

}  // namespace hekla
