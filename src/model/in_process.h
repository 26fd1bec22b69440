// The annotation, and label, of pods that a part of the embedded platform's own process realises:
// no container is run for them. Its value is the component. Only the platform's admission sets it.
#pragma once

#include <string>

namespace hekla::model {

inline const std::string kInProcess = "hekla.io/in-process";

}  // namespace hekla::model
