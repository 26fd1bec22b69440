// The completion of an asynchronous call: called once, with the value or the error.
#pragma once

#include <functional>

#include "base/result.h"

namespace hekla {

template <class T>
using Done = std::move_only_function<void(Result<T>)>;

}  // namespace hekla
