// Sets of code points for patterns: as ranges, not necessarily sorted or disjoint.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/pattern.h"

namespace hekla::cel {

using Ranges = std::vector<Pattern::Range>;
inline constexpr std::uint32_t kMaxRune = 0x10ffff;

Ranges negated(Ranges set);
void append(Ranges& to, const Ranges& more);
// Adds the other case of what is there.
void fold_case(Ranges& set);

extern const Ranges kDigitRunes, kWordRunes, kSpaceRunes;  // \d, \w, \s
// [:name:] and \p{name}; null when there is no such class.
const Ranges* posix_class(std::string_view name);
const Ranges* unicode_class(std::string_view name);

}  // namespace hekla::cel
