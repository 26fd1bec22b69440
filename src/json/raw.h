// Text that serialize() wrote, taken apart without being read: whoever changes one member of a
// stored object need not make values of all the others.
#pragma once

#include <string_view>
#include <vector>

namespace hekla::json {

struct RawMember {
  std::string_view key, value;  // as they are written; the key without its quotes
};

// The members of the object that `object` is, in their order. Only for what serialize() wrote.
std::vector<RawMember> raw_members(std::string_view object);

}  // namespace hekla::json
