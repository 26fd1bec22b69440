// The shapes of texts users know from Go: lists in brackets, field errors, aggregated errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hekla::admission {

std::string_view trimmed(std::string_view text);
std::string quoted(std::string_view text);
// [a b c]
std::string bracketed(const std::vector<std::string>& parts);
// path: Invalid value: "value": detail
std::string invalid_field(std::string_view path, std::string_view value, std::string_view detail);
// One message as it is, several as [a, b].
std::string aggregated(const std::vector<std::string>& messages);
// hashicorp's multierror: "1 error occurred:\n\t* ...\n\n".
std::string multierror(const std::vector<std::string>& messages);

// A denial with this message, without surrounding space; success when there is nothing to say.
Result<void> deny_if(std::string_view message);

}  // namespace hekla::admission
