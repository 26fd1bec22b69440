#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

// Measures two pods and keeps the log of a third; runs nothing.
class ReportingStreams final : public kube::PodStreams {
 public:
  void logs(const kube::PodRef& pod, const kube::LogOptions& options,
            std::shared_ptr<kube::ByteSink> sink, Done<void> started) override {
    if (pod.name != "ps-0") return started(fail(Code::not_found, "no such log"));
    started({});
    sink->write(pod.uid + " " + options.container + "\n");
    sink->end();
  }
  void kept_logs(const std::string& ns, Done<std::vector<kube::KeptLog>> done) override {
    asked_ns = ns;
    done(std::vector<kube::KeptLog>{{"default",
                                     "ps-0",
                                     "u0",
                                     {"batch.volcano.sh/v1alpha1", "Job", "j", "uj", {}, {}},
                                     7,
                                     {},
                                     {"c"}}});
  }
  void usage(Done<kube::NodeUsage> done) override {
    kube::NodeUsage usage;
    usage.node = "n1";
    usage.window = std::chrono::seconds(15);
    usage.cpu_nanocores = 1'500'000'000;
    usage.memory_bytes = 4096;
    usage.pods = {{"default", "p", "u", std::chrono::seconds(15), {{"c", 250'000'000, 2048}}},
                  {"default", "gone", "g", {}, {{"c", 1, 1}}}};
    done(usage);
  }
  void exec(const kube::PodRef&, const kube::ExecOptions&, ProcessReady ready) override {
    ready(fail(Code::internal, "this fake reports alone"));
  }
  void attach(const kube::PodRef&, const kube::ExecOptions&, ProcessReady ready) override {
    ready(fail(Code::internal, "this fake reports alone"));
  }
  void forward(const kube::PodRef&, std::uint16_t, std::shared_ptr<kube::ForwardClient>,
               ForwardReady ready) override {
    ready(fail(Code::internal, "this fake reports alone"));
  }
  std::string asked_ns;
};

class NodeReportTest : public ServerFixture {
 protected:
  NodeReportTest() {
    node_reports = true;
    server.reset();
    store.reset();
    open();
    bootstrap();
    server->set_pod_streams(&streams);
  }
  ReportingStreams streams;
};

constexpr const char* kPodMetrics = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";

TEST_F(NodeReportTest, ComponentsOfTheProcessListTheSameMetrics) {
  call("POST", kPods, R"({"metadata":{"name":"p","labels":{"app":"x"}},"spec":{"containers":[
      {"name":"c","image":"i"}]}})");
  std::unique_ptr<kube::Client> client = server->client(caller, {"autoscaler"});
  auto list = [&](const kube::Resource& resource, const std::string& ns,
                  const std::string& selector) {
    Result<kube::List> found = fail(Code::timeout, "no answer");
    client->list(resource, {ns, selector, {}},
                 [&](Result<kube::List> answer) { found = std::move(answer); });
    EXPECT_FALSE(found) << "a client never calls back from within a call";
    simulation.run_until_idle();
    return found;
  };
  const kube::Resource pods{"metrics.k8s.io", "v1beta1", "pods", "PodMetrics", true};
  Result<kube::List> found = list(pods, "default", "app=x");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->items.size(), 1u);
  EXPECT_EQ(found->items[0]->name, "p");
  EXPECT_NE(found->items[0]->json->find(R"("cpu":"250000000n")"), std::string::npos)
      << *found->items[0]->json;
  EXPECT_EQ(list(pods, "default", "app=y")->items.size(), 0u);
  EXPECT_EQ(list(pods, "other", "")->items.size(), 0u);
  EXPECT_FALSE(list(pods, "default", "a in"));
  server->set_pod_streams(nullptr);
  EXPECT_EQ(list(pods, "default", "").error().code, Code::not_found);
}

TEST_F(NodeReportTest, MetricsOfPodsThatAreThere) {
  call("POST", kPods, R"({"metadata":{"name":"p","labels":{"app":"x"}},"spec":{"containers":[
      {"name":"c","image":"i"}]}})");
  Reply list = call("GET", kPodMetrics);
  EXPECT_EQ(list.status, 200);
  EXPECT_EQ(list.at({"kind"}), "PodMetricsList");
  const json::Array* items = json::array_at(list.body, {"items"});
  ASSERT_TRUE(items);
  ASSERT_EQ(items->size(), 1u);  // not that of the pod that has gone meanwhile
  EXPECT_EQ(json::string_at(items->at(0), {"metadata", "labels", "app"}), "x");
  const json::Array* containers = json::array_at(items->at(0), {"containers"});
  ASSERT_TRUE(containers && containers->size() == 1);
  EXPECT_EQ(json::string_at(containers->at(0), {"usage", "cpu"}), "250000000n");
  EXPECT_EQ(json::string_at(containers->at(0), {"usage", "memory"}), "2Ki");
  EXPECT_EQ(call("GET", std::string(kPodMetrics) + "/p").at({"kind"}), "PodMetrics");
  Reply missing = call("GET", std::string(kPodMetrics) + "/gone");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.message(), "pods.metrics.k8s.io \"gone\" not found");
  Reply none = call("GET", std::string(kPodMetrics) + "?labelSelector=app%3Dy");
  EXPECT_EQ(json::array_at(none.body, {"items"})->size(), 0u);
  EXPECT_EQ(call("DELETE", std::string(kPodMetrics) + "/p").status, 405);
}

TEST_F(NodeReportTest, MetricsOfTheNode) {
  EXPECT_EQ(
      json::array_at(call("GET", "/apis/metrics.k8s.io/v1beta1/nodes").body, {"items"})->size(),
      0u);
  call("POST", "/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
  Reply one = call("GET", "/apis/metrics.k8s.io/v1beta1/nodes/n1");
  EXPECT_EQ(one.at({"usage", "cpu"}), "1500000000n");
  EXPECT_EQ(one.at({"usage", "memory"}), "4Ki");
}

TEST_F(NodeReportTest, LogsOfGonePods) {
  Reply list = call("GET", "/apis/logs.hekla.io/v1alpha1/namespaces/default/podlogs");
  EXPECT_EQ(streams.asked_ns, "default");
  const json::Array* items = json::array_at(list.body, {"items"});
  ASSERT_TRUE(items && items->size() == 1);
  EXPECT_EQ(json::string_at(items->at(0), {"metadata", "name"}), "ps-0");
  EXPECT_EQ(call("GET", std::string(kPods) + "/ps-0/log?podUID=u0&container=c").text, "u0 c\n");
  Reply unknown = call("GET", std::string(kPods) + "/other/log");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.message(), "pods \"other\" not found");
}

TEST_F(NodeReportTest, DiscoveryListsThem) {
  Reply groups = call("GET", "/apis");
  EXPECT_NE(groups.text.find("\"metrics.k8s.io/v1beta1\""), std::string::npos);
  Reply resources = call("GET", "/apis/metrics.k8s.io/v1beta1");
  EXPECT_NE(resources.text.find("PodMetrics"), std::string::npos);
}

class NoReportTest : public ServerFixture {};

TEST_F(NoReportTest, WithoutAnAgentThereAreNone) {
  EXPECT_EQ(call("GET", kPodMetrics).status, 404);
  EXPECT_EQ(call("GET", "/apis").text.find("metrics.k8s.io"), std::string::npos);
}

}  // namespace
}  // namespace hekla::apiserver
