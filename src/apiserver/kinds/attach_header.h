// Headers of what the store found on its disk.
#pragma once

#include <string>
#include <string_view>

#include "store/store.h"

namespace hekla::apiserver {

// A store::Attacher. Custom kinds are not known at recovery; theirs are never indexed.
store::AttachmentPtr attach_header(std::string_view bucket, const std::string& key,
                                   const std::string& value);

}  // namespace hekla::apiserver
