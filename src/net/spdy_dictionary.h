// The text that both ends of a SPDY/3 connection know before the first header block: zlib's preset
// dictionary, fixed by the protocol down to the byte.
#pragma once

#include <string>
#include <string_view>

namespace hekla::net {

const std::string& spdy_dictionary();

}  // namespace hekla::net
