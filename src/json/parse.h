// Text to values. simdjson reads; Boost.JSON holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace hekla::json {

// As many repeated members of a document are reported; a hostile one may have millions, each with a
// long path.
inline constexpr std::size_t kMaxDuplicates = 100;

// One JSON document, UTF-8. Integers beyond 64 bits become doubles. Depth is limited to 256. On
// duplicate members the last wins, as in Go; `duplicates`, when given, receives their paths
// ("spec.containers[0].name") for strict decoding.
Result<Value> parse(std::string_view text, std::vector<std::string>* duplicates = nullptr);
// The same with all of the value's memory in `storage`, which must outlive it.
Result<Value> parse(std::string_view text, boost::json::storage_ptr storage,
                    std::vector<std::string>* duplicates = nullptr);

// YAML to values with the scalar rules kubectl has (sigs.k8s.io/yaml over go-yaml): YAML 1.1
// booleans, octal, merge keys and anchors; several documents separated by `---`. Empty documents
// are dropped. Errors name the line, and so do `duplicates` (`line 9: key "a" already set in map`).
// Alias expansion is bounded.
struct YamlDocument {
  Value value;
  int line = 1;  // where the document begins
};
// YamlBooleans::words is what Python's yaml writes: y, n, on, off, yes and no unquoted are text (it
// quotes its own booleans, and go-yaml v3 has the same rule), only true and false are not.
enum class YamlBooleans { kubectl, words };
Result<std::vector<YamlDocument>> parse_yaml(std::string_view text,
                                             std::vector<std::string>* duplicates = nullptr,
                                             YamlBooleans booleans = YamlBooleans::kubectl);
// Block style, as kubectl prints.
std::string to_yaml(const Value& value);

}  // namespace hekla::json
