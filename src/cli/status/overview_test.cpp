#include "cli/status/overview.h"

#include <gtest/gtest.h>

namespace hekla::cli {
namespace {

model::Quantity amount(const char* text) { return model::Quantity::parse(text).value(); }

Overview small_cluster() {
  Overview out;
  out.nodes.push_back({.name = "n1",
                       .ready = true,
                       .allocatable = {{"cpu", amount("4")}, {"memory", amount("8Gi")}},
                       .requested = {{"cpu", amount("1500m")}, {"memory", amount("2Gi")}},
                       .pods = 2});
  out.queues.push_back({.name = "root"});
  out.queues.push_back({.name = "research",
                        .state = "Closed",
                        .weight = 3,
                        .running = 1,
                        .waiting = 2,
                        .allocated = {{"cpu", amount("1500m")}},
                        .capability = {{"cpu", amount("2")}}});
  out.jobs.push_back({.kind = "job",
                      .ns = "a",
                      .name = "train",
                      .queue = "research",
                      .state = "Running",
                      .replicas = 4,
                      .running = 2,
                      .pending = 2});
  out.jobs.push_back({.kind = "tfjob",
                      .ns = "b",
                      .name = "old",
                      .state = "Succeeded",
                      .ended = true,
                      .succeeded = true});
  out.pods = {{"Pending", 2}, {"Running", 2}};
  return out;
}

TEST(Overview, InAFewLines) {
  using Lines = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(overview_lines(small_cluster()),
            (Lines{{"nodes", "1 ready: n1; 1.5 of 4 cpu; 2Gi of 8Gi memory"},
                   {"pods", "2 pending, 2 running"},
                   {"jobs", "1 running, 1 succeeded"},
                   {"queues", "research (1 running, 2 waiting)"}}));
}

TEST(Overview, AsBars) {
  const std::string text = top_text(small_cluster(), {}, 100, Paint(false));
  EXPECT_NE(text.find("NODES\n  n1 "), std::string::npos) << text;
  EXPECT_NE(text.find("1.5/4"), std::string::npos);
  EXPECT_NE(text.find("1.5/2"), std::string::npos);  // of the queue's own limit
  EXPECT_NE(text.find("weight 3, 1 running, 2 waiting, Closed\n"), std::string::npos) << text;
  EXPECT_NE(text.find("2/4"), std::string::npos);
  EXPECT_EQ(text.find("old"), std::string::npos);
  EXPECT_NE(text.find("1 ended (--all shows them)"), std::string::npos);
  const std::string jobs =
      top_text(small_cluster(), {.queues = false, .nodes = false, .ended = true, .ns = "b"}, 100,
               Paint(false));
  EXPECT_EQ(jobs.find("NODES"), std::string::npos);
  EXPECT_EQ(jobs.find("train"), std::string::npos);
  EXPECT_NE(jobs.find("old"), std::string::npos);
}

TEST(Overview, AsPeopleSayAmounts) {
  EXPECT_EQ(short_amount("cpu", amount("250m")), "0.25");
  EXPECT_EQ(short_amount("cpu", amount("16")), "16");
  EXPECT_EQ(short_amount("memory", amount("24684100Ki")), "23.5Gi");
  EXPECT_EQ(short_amount("memory", amount("512Mi")), "512Mi");
  EXPECT_EQ(short_amount("nvidia.com/gpu", amount("2")), "2");
}

TEST(Overview, AsJson) {
  const json::Value value = to_json(small_cluster(), {.nodes = false});
  EXPECT_EQ(json::find(value, "nodes"), nullptr);
  EXPECT_EQ(json::array_at(value, {"jobs"})->size(), 1u);
  EXPECT_EQ(json::string_at(json::array_at(value, {"queues"})->at(1), {"allocated", "cpu"}),
            "1500m");
}

}  // namespace
}  // namespace hekla::cli
