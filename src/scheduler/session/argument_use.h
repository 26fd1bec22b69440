// What a plugin looks for among its arguments, noted while it is made: whatever else is given is
// misspelt or not supported, and whoever wrote it should hear of it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace hekla::scheduler {

struct ArgumentUse {
  std::set<std::string, std::less<>> names;  // that were asked for
  std::vector<std::string> prefixes;         // of names that the user makes up
  std::vector<std::string> problems;         // with values
  std::map<std::string, std::shared_ptr<ArgumentUse>>
      parts;  // arguments that have members of their own

  // The problems, and every member of the object that nobody asked for with the name that may be
  // meant.
  std::vector<std::string> complaints(const json::Value& arguments) const;
};

// The name that differs least from this one, if it differs little; otherwise empty.
std::string nearest_name(std::string_view given, const std::set<std::string, std::less<>>& names);

}  // namespace hekla::scheduler
