#include "scheduler/loop/told_event.h"

#include <map>
#include <tuple>

namespace hekla::scheduler {
namespace {

constexpr std::size_t kToldOneByOne = 10;

// Events about the same thing agree in component, gang, type and reason.
using Matter = std::tuple<std::string, std::string, std::string, std::string>;

Matter matter_of(const ToldEvent& event) {
  return {event.component, event.gang.ns + "/" + event.gang.name + "/" + event.gang.uid, event.type,
          event.reason};
}

}  // namespace

std::vector<ToldEvent> told_by_gang(std::vector<ToldEvent> events) {
  if (events.size() <= kToldOneByOne) return events;
  std::map<Matter, std::size_t> counts;
  for (const ToldEvent& event : events)
    if (!event.gang.name.empty()) ++counts[matter_of(event)];
  std::vector<ToldEvent> out;
  for (ToldEvent& event : events) {
    auto count = event.gang.name.empty() ? counts.end() : counts.find(matter_of(event));
    const bool is_told = count != counts.end() && count->second == 0;
    if (is_told) continue;
    if (count == counts.end() || count->second <= kToldOneByOne) {
      out.push_back(std::move(event));
      continue;
    }
    event.message = std::to_string(count->second) + " pods: " + event.message;
    event.target = event.gang;
    count->second = 0;
    out.push_back(std::move(event));
  }
  return out;
}

}  // namespace hekla::scheduler
