// The words of Go's JSON decoder for text that is no JSON: clients print them.
#pragma once

#include <string>
#include <string_view>

namespace hekla::apiserver {

// "invalid character 'x' looking for beginning of value", "unexpected end of JSON input"; empty
// when the text is one JSON value.
std::string go_syntax_error(std::string_view text);

// The part of an unreadable body that upstream shows: the beginning of an object, anything else in
// hexadecimal.
std::string summarize_body(std::string_view body);

}  // namespace hekla::apiserver
