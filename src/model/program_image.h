// The image `hekla`: this program on the machine's own file system. The agent of the embedded
// platform knows it without any registry; controllers give it to the containers that they add to
// pods.
#pragma once

#include <string_view>

namespace hekla::model {

inline constexpr std::string_view kProgramImage = "hekla";
inline constexpr const char* kProgramPath = "/hekla";  // of the program, inside

// Why a container waits while its image is built; the message says how far that is.
inline constexpr std::string_view kImageBuilding = "ImageBuilding";

}  // namespace hekla::model
