// The string formats a CRD may ask for. Unknown ones are accepted, as upstream ignores them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hekla::model {

bool satisfies_format(std::string_view format, std::string_view text);

bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);
// "10.0.0.0/8" or "fd00::/8".
bool is_cidr(std::string_view text);
// What is wrong with an address that must be written in the one canonical form; upstream's words.
std::vector<std::string> ip_errors(std::string_view text);

}  // namespace hekla::model
