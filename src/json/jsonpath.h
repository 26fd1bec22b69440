// The JSONPath dialect of kubectl and of the printer columns of a CRD: .a.b, ['a.b'], .a\.b, [0],
// [-1], [1:3], [*], .*, ..name, [?(@.type=="Ready")]. Braces around the whole and a leading $ are
// optional.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace hekla::json {

// Immutable after parse; may be shared between threads.
class JsonPath {
 public:
  static Result<JsonPath> parse(std::string_view text);

  // The values the path leads to, in document order; what is missing on the way is no error.
  std::vector<const Value*> find(const Value& root) const;
  // The first of them or null.
  const Value* find_first(const Value& root) const;

  struct Step;

 private:
  std::shared_ptr<const std::vector<Step>> steps_;
};

}  // namespace hekla::json
