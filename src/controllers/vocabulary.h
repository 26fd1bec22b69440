// The framework's words, which every controller here speaks without naming it each time.
#pragma once

#include "framework/events.h"
#include "framework/outcome.h"
#include "framework/pods.h"
#include "framework/writes.h"

namespace hekla::controllers {

using namespace framework;

}  // namespace hekla::controllers
