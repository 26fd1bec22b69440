// The files of deploy/ that the binary carries.
#pragma once

#include <string_view>

namespace hekla::cli {

std::string_view containerfile();  // deploy/image/Containerfile
std::string_view base_manifest();  // deploy/kustomize/base/hekla.yaml

}  // namespace hekla::cli
