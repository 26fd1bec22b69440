#include "base/log_ring.h"

#include <algorithm>

namespace hekla {

void LogRing::add(std::string_view component, WallTime at, std::string_view text) {
  std::lock_guard lock(mutex_);
  auto found = lines_.find(component);
  if (found == lines_.end()) found = lines_.try_emplace(std::string(component)).first;
  found->second.push_back({++count_, at, std::string(text)});
  if (found->second.size() > limit_) found->second.pop_front();
}

std::vector<LogLine> LogRing::read(const std::vector<std::string>& components,
                                   std::uint64_t after) const {
  std::vector<LogLine> out;
  std::lock_guard lock(mutex_);
  for (const std::string& component : components) {
    auto found = lines_.find(component);
    if (found == lines_.end()) continue;
    for (const LogLine& line : found->second)
      if (line.number > after) out.push_back(line);
  }
  std::ranges::sort(out, {}, &LogLine::number);
  return out;
}

}  // namespace hekla
