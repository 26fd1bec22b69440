// JSON as Go's encoding/json writes a map: what is compared byte for byte with what kubectl and
// controllers wrote.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace hekla::json {

// The members of every object by name.
Value sorted(const Value& value);
// The same as text, with <, > and & and JavaScript's line ends escaped.
std::string go_text(const Value& value);
// Go's %v: map[a:1 b:[x y]].
std::string go_print(const Value& value);
// Go's %q for printable text: quotes, backslashes and control characters escaped.
std::string go_quote(std::string_view text);

}  // namespace hekla::json
