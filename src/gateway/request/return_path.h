// Where a visitor goes after a login or a logout.
#pragma once

#include <string>
#include <string_view>

namespace hekla::gateway {

// The path itself if it leads to a page of ours whatever browser reads it, otherwise "/". Only a
// path: no scheme, no host, nothing that a browser takes for one ("//x", "/\x", "/ /x", "/./x").
std::string return_path(std::string_view wanted);

}  // namespace hekla::gateway
