#include "scheduler/loop/told_event.h"

#include <gtest/gtest.h>

namespace hekla::scheduler {
namespace {

ToldEvent scheduled(const std::string& gang, int pod) {
  const std::string name = gang + "-" + std::to_string(pod);
  ToldEvent event{"volcano",
                  {"v1", "Pod", "default", name, "", 0},
                  "Normal",
                  "Scheduled",
                  "Successfully assigned default/" + name + " to n1"};
  if (!gang.empty()) event.gang = {"scheduling.volcano.sh/v1beta1", "PodGroup", "default", gang};
  return event;
}

std::vector<std::string> targets(const std::vector<ToldEvent>& events) {
  std::vector<std::string> out;
  for (const ToldEvent& event : events)
    out.push_back(event.target.kind + " " + event.target.name + ": " + event.message);
  return out;
}

TEST(ToldByGang, ManyPodsOfAGangAreOneEventOnIt) {
  std::vector<ToldEvent> events;
  for (int i = 0; i < 40; ++i) events.push_back(scheduled("a", i));
  events.push_back(scheduled("b", 0));
  events.push_back(scheduled("", 7));
  EXPECT_EQ(
      targets(told_by_gang(events)),
      (std::vector<std::string>{"PodGroup a: 40 pods: Successfully assigned default/a-0 to n1",
                                "Pod b-0: Successfully assigned default/b-0 to n1",
                                "Pod -7: Successfully assigned default/-7 to n1"}));
}

TEST(ToldByGang, AFewAreToldOneByOne) {
  std::vector<ToldEvent> events;
  for (int i = 0; i < 10; ++i) events.push_back(scheduled("a", i));
  for (int i = 0; i < 10; ++i) events.push_back(scheduled("b", i));
  EXPECT_EQ(told_by_gang(events).size(), 20u);
}

TEST(ToldByGang, AnotherReasonIsAnotherMatter) {
  std::vector<ToldEvent> events;
  for (int i = 0; i < 20; ++i) {
    events.push_back(scheduled("a", i));
    events.push_back(scheduled("a", 100 + i));
    events.back().reason = "FailedScheduling";
  }
  EXPECT_EQ(told_by_gang(events).size(), 2u);
}

}  // namespace
}  // namespace hekla::scheduler
