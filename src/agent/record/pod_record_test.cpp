#include "agent/record/pod_record.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

PodRecord running_pod() {
  PodRecord record;
  record.uid = "u";
  record.ns = "default";
  record.name = "p";
  record.address = "10.244.0.2";
  record.sandbox = true;
  record.containers = {{.name = "i", .init = true}, {.name = "c"}};
  record.containers[1].attempts = 1;
  record.containers[1].current = ContainerRun{.id = "x", .phase = run_phase::running};
  return record;
}

TEST(PodRecord, DamagedOnesAreKnown) {
  EXPECT_EQ(record_fault(running_pod()), std::nullopt);
  const std::pair<const char*, void (*)(PodRecord&)> damages[] = {
      {"no name", [](PodRecord& record) { record.ns.clear(); }},
      {"outcome Perhaps", [](PodRecord& record) { record.outcome = "Perhaps"; }},
      {"rejected without having failed", [](PodRecord& record) { record.rejected = true; }},
      {"a network without an address", [](PodRecord& record) { record.address.clear(); }},
      {"container name \"c\"", [](PodRecord& record) { record.containers[0].name = "c"; }},
      {"init container i behind others",
       [](PodRecord& record) { std::swap(record.containers[0], record.containers[1]); }},
      {"container c runs twice",
       [](PodRecord& record) { record.containers[1].previous = record.containers[1].current; }},
      {"container c is lost",
       [](PodRecord& record) { record.containers[1].current->phase = "lost"; }},
      {"attempt 1 of container c",
       [](PodRecord& record) { record.containers[1].current->attempt = 1; }}};
  for (const auto& [fault, damage] : damages) {
    PodRecord record = running_pod();
    damage(record);
    EXPECT_EQ(record_fault(record), fault);
  }
}

}  // namespace
}  // namespace hekla::agent
