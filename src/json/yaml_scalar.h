// What a plain YAML scalar means: the resolution rules of go-yaml v2 as kubectl has them (YAML 1.1
// booleans including y and n, octal, hexadecimal, binary, underscores). Timestamps stay strings.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace hekla::json {

enum class YamlTag { string, null, boolean, integer, floating };

struct YamlScalar {
  YamlTag tag = YamlTag::string;
  Value value;  // not set for a string: that is the text itself
};

YamlScalar resolve_yaml_scalar(std::string_view text);

// "2001-01-01", "2001-12-14t21:59:43.10-05:00": strings to JSON, but written with quotes.
bool is_yaml_timestamp(std::string_view text);

// The text with U+FFFD in the place of every byte that is not UTF-8, as Go writes it to JSON.
std::string valid_utf8(std::string_view text);

// "!!int": as go-yaml names it in messages.
std::string_view yaml_tag_name(YamlTag tag);

}  // namespace hekla::json
