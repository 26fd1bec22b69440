#include "apiserver/field_hint.h"

#include <algorithm>
#include <numeric>

namespace hekla::apiserver {
namespace {

char lower(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

// Letters to add, drop, change or swap with their neighbour; capitals do not count.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

// The schema of one step of a path: "tasks[0]" is the item of tasks.
const Schema* step_into(const Schema& schema, std::string_view step) {
  std::size_t bracket = step.find('[');
  auto found = schema.properties.find(step.substr(0, bracket));
  const Schema* inner = found != schema.properties.end() ? found->second.get() : schema.additional.get();
  for (; inner && bracket != std::string_view::npos; bracket = step.find('[', bracket + 1))
    inner = inner->items.get();
  return inner;
}

}  // namespace

bool is_platform_group(std::string_view group) {
  return group.ends_with(".volcano.sh") || group == "kubeflow.org" || group.ends_with(".kubeflow.org");
}

std::string field_hint(const Schema& schema, std::string_view path) {
  const Schema* at = &schema;
  for (std::size_t dot; at && (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1))
    at = step_into(*at, path.substr(0, dot));
  if (!at) return {};
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, path.size() / 3) + 1;
  for (const auto& [name, member] : at->properties)
    if (std::size_t far = distance(path, name); far < least) {
      least = far;
      nearest = name;
    }
  if (nearest.empty()) return {};
  return ", did you mean \"" + std::string(nearest) + "\"?";
}

}  // namespace hekla::apiserver
