#include "scheduler/loop/node_load_source.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "model/time.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::scheduler {
namespace {

class FakePrometheus final : public kube::Http {
 public:
  void send(kube::HttpCall call, Executor& executor,
            std::function<void(Result<kube::HttpAnswer>)> done) override {
    ++calls;
    bool cpu = call.url.find("node_cpu_seconds_total") != std::string::npos;
    EXPECT_TRUE(call.url.starts_with("http://prometheus:9090/api/v1/query?query=")) << call.url;
    kube::HttpAnswer answer{cpu ? status : memory_status, vector(cpu ? "42.5" : "17")};
    executor.post([done = std::move(done), answer = std::move(answer)] { done(answer); });
  }
  Result<kube::HttpAnswer> fetch(kube::HttpCall) override {
    ADD_FAILURE() << "nobody waits for metrics";
    return fail(Code::internal, "");
  }
  static std::string vector(const std::string& value) {
    return R"({"status":"success","data":{"resultType":"vector","result":[)"
           R"({"metric":{"instance":"n1:9100"},"value":[1700000000,")" +
           value + R"("]},{"metric":{"instance":"n2"},"value":[1700000000,"NaN"]}]}})";
  }
  int calls = 0;
  int status = 200, memory_status = 200;
};

TEST(NodeLoadSource, HalfAnAnswerIsNone) {
  sim::Simulation simulation(1);
  sim::SimExecutor& executor = simulation.add("scheduler");
  FakePrometheus prometheus;
  prometheus.memory_status = 503;
  NodeLoadSource source(executor, &prometheus);
  ASSERT_TRUE(source.configure(*json::parse(
      R"({"type":"prometheus","address":"http://prometheus:9090","interval":"10s"})")));
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_FALSE(source.of("n1"));
  prometheus.memory_status = 200;
  simulation.run_for(std::chrono::seconds(10));
  ASSERT_TRUE(source.of("n1"));
  prometheus.memory_status = 503;
  simulation.run_for(std::chrono::seconds(30));
  EXPECT_LT(source.of("n1")->at, executor.clock().wall() - std::chrono::seconds(20))
      << "as old as its older half";
}

TEST(NodeLoadSource, AsksPrometheusEveryInterval) {
  sim::Simulation simulation(1);
  sim::SimExecutor& executor = simulation.add("scheduler");
  FakePrometheus prometheus;
  NodeLoadSource source(executor, &prometheus);
  ASSERT_TRUE(source.configure(*json::parse(
      R"({"type":"prometheus","address":"http://prometheus:9090/","interval":"10s"})")));
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(prometheus.calls, 2);
  std::optional<NodeLoad> load = source.of("n1");
  ASSERT_TRUE(load);
  EXPECT_DOUBLE_EQ(load->cpu, 42.5);
  EXPECT_DOUBLE_EQ(load->memory, 17);
  EXPECT_FALSE(source.of("n3"));
  simulation.run_for(std::chrono::seconds(10));
  EXPECT_EQ(prometheus.calls, 4);

  prometheus.status = prometheus.memory_status = 503;  // the last numbers stay, with their time
  simulation.run_for(std::chrono::seconds(10));
  ASSERT_TRUE(source.of("n1"));
  EXPECT_LT(source.of("n1")->at, executor.clock().wall() - std::chrono::seconds(5));

  ASSERT_TRUE(source.configure(json::Value()));
  simulation.run_for(std::chrono::seconds(60));
  EXPECT_EQ(prometheus.calls, 6);
  EXPECT_FALSE(source.of("n1"));
}

TEST(NodeLoadSource, AsksTheMetricsServerForAllNodesAtOnce) {
  sim::Simulation simulation(1);
  sim::SimExecutor& executor = simulation.add("scheduler");
  test::FakeApi api(simulation.clock());
  test::FakeClient client(api, executor);
  const kube::Resource metrics{"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false};
  for (const char* name : {"n1", "unknown"})
    ASSERT_TRUE(api.create(metrics, *json::parse(R"({"metadata":{"name":")" + std::string(name) +
                                                 R"("},"usage":{"cpu":"1500m","memory":"2Gi"}})")));
  NodeLoadSource source(executor, nullptr, &client, [](std::string_view node) {
    using Capacity = NodeLoadSource::Capacity;
    return node == "n1" ? std::optional(Capacity{4000, std::int64_t{8} << 30}) : std::nullopt;
  });
  ASSERT_TRUE(source.configure(*json::parse(R"({"type":"metrics_server","interval":"10s"})")));
  simulation.run_for(std::chrono::seconds(1));
  std::optional<NodeLoad> load = source.of("n1");
  ASSERT_TRUE(load);
  EXPECT_DOUBLE_EQ(load->cpu, 37.5);
  EXPECT_DOUBLE_EQ(load->memory, 25);
  EXPECT_EQ(load->at, executor.clock().wall() - std::chrono::seconds(1));
  EXPECT_FALSE(source.of("unknown"));
  ASSERT_TRUE(
      api.patch(metrics, {"", "n1"},
                *json::parse(R"({"usage":{"cpu":"2"},"timestamp":"2026-01-01T00:00:00Z"})")));
  simulation.run_for(std::chrono::seconds(10));
  EXPECT_DOUBLE_EQ(source.of("n1")->cpu, 50);
  EXPECT_EQ(source.of("n1")->at, *model::parse_rfc3339("2026-01-01T00:00:00Z"));
}

TEST(NodeLoadSource, RefusesOtherSources) {
  sim::Simulation simulation(1);
  NodeLoadSource source(simulation.add("scheduler"), nullptr);
  Result<void> refused = source.configure(*json::parse(R"({"type":"elasticsearch"})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "metrics: the load of nodes cannot be had from \"elasticsearch\", only from prometheus "
            "or metrics_server");
  EXPECT_FALSE(source.configure(*json::parse(R"({"type":"prometheus"})")));
}

}  // namespace
}  // namespace hekla::scheduler
