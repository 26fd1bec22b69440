// The name somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hekla {

// Letters to add, drop, change or swap with their neighbour; capitals do not count.
std::size_t spelling_distance(std::string_view a, std::string_view b);

// The candidate spelled most like `name`; empty when none is close.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace hekla
