#include "apiserver/schema/field_hint.h"

#include <algorithm>

#include "base/nearest.h"

namespace hekla::apiserver {
namespace {

// The schema of one step of a path: "tasks[0]" is the item of tasks.
const Schema* step_into(const Schema& schema, std::string_view step) {
  std::size_t bracket = step.find('[');
  auto found = schema.properties.find(step.substr(0, bracket));
  const Schema* inner =
      found != schema.properties.end() ? found->second.get() : schema.additional.get();
  for (; inner && bracket != std::string_view::npos; bracket = step.find('[', bracket + 1))
    inner = inner->items.get();
  return inner;
}

}  // namespace

bool is_platform_group(std::string_view group) {
  return group.ends_with(".volcano.sh") || group == "kubeflow.org" ||
         group.ends_with(".kubeflow.org");
}

std::string field_hint(const Schema& schema, std::string_view path) {
  const Schema* at = &schema;
  for (std::size_t dot; at && (dot = path.find('.')) != std::string_view::npos;
       path.remove_prefix(dot + 1))
    at = step_into(*at, path.substr(0, dot));
  if (!at) return {};
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, path.size() / 3) + 1;
  for (const auto& [name, member] : at->properties)
    if (std::size_t far = spelling_distance(path, name); far < least) {
      least = far;
      nearest = name;
    }
  if (nearest.empty()) return {};
  return ", did you mean \"" + std::string(nearest) + "\"?";
}

}  // namespace hekla::apiserver
