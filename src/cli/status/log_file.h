// The file that takes what a platform in the background says.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla::cli {

// Begun anew; the one of the last start is kept beside it, with .1 behind its name.
Result<void> begin_log(const std::string& path);
// The last complaint in it, without the program's name; empty: there is none.
std::string last_complaint(const std::string& path);

}  // namespace hekla::cli
