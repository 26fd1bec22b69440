// Unpacks an image layer (a tar file, plain or compressed) into a directory that overlayfs can
// stack. A layer is hostile until shown otherwise: every step is taken relative to a directory
// that was opened inside the target, so that neither "..", absolute names nor links lead out.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

// `target` is an empty directory; `lowers` are the unpacked layers below, topmost first: a
// directory that the layer only passes through looks as it does there. Fails soon after `cancelled`
// has become true. Answers the digest of the tar file within ("sha256:..."). Blocks; needs root.
Result<std::string> unpack_layer(const std::string& archive, const std::string& target,
                                 const std::vector<std::string>& lowers,
                                 const std::atomic<bool>* cancelled = nullptr);

}  // namespace hekla::agent
