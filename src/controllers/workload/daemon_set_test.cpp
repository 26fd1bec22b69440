#include "controllers/workload/daemon_set.h"

#include "controllers/workload/fake_cluster_test.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;

std::string agent(const std::string& image, const std::string& more = "",
                  const std::string& pod = "") {
  return "metadata: {name: agent}\n"
         "spec:\n"
         "  selector: {matchLabels: {app: agent}}\n"
         "  template: {metadata: {labels: {app: agent}}, spec: {" +
         pod + "containers: [{name: main, image: " + image + "}]}}\n" + more;
}

class DaemonSetTest : public WorkloadsTest {
 protected:
  DaemonSetTest() {
    for (const char* name : {"n1", "n2", "n3"}) node(name);
  }
  void node(const std::string& name, const std::string& more = "") {
    apply(resources::nodes,
          "metadata: {name: " + name + ", labels: {zone: " + name + "}}\n" + more);
  }
  // Unlike the usual node, pods run where they are meant to.
  void run_daemons() {
    for (int i = 0; i < 100; ++i) {
      bool did = false;
      for (const std::string& name : pod_names()) {
        const json::Value* pod = api_.find(resources::pods, {"default", name});
        if (!pod) continue;
        if (!json::string_at(*pod, {"metadata", "deletionTimestamp"}).empty()) {
          api_.finish_termination({"default", name});
        } else if (json::string_at(*pod, {"status", "phase"}).empty()) {
          set_phase(name, "Running", 0, meant_for(*pod));
        } else {
          continue;
        }
        did = true;
        settle();
      }
      if (!did) return;
    }
    FAIL() << "pods keep changing";
  }
  static std::string meant_for(const json::Value& pod) {
    const json::Array* terms = json::array_at(
        pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
              "nodeSelectorTerms"});
    const json::Value& field = (*json::array_at((*terms)[0], {"matchFields"}))[0];
    return std::string(json::sv((*json::array_at(field, {"values"}))[0].get_string()));
  }
  std::set<std::string> places() {
    std::set<std::string> all;
    for (const json::Value* pod : api_.list(resources::pods)) all.insert(meant_for(*pod));
    return all;
  }
  std::int64_t count(std::string_view member) {
    return status_of(resources::daemon_sets, "agent", member);
  }
};

TEST_F(DaemonSetTest, OnePodPerNode) {
  apply(resources::daemon_sets, agent("a:1"));
  EXPECT_EQ(places(), (std::set<std::string>{"n1", "n2", "n3"}));
  run_daemons();
  EXPECT_EQ(count("desiredNumberScheduled"), 3);
  EXPECT_EQ(count("numberReady"), 3);
  EXPECT_EQ(count("numberAvailable"), 3);
  node("n4");
  run_daemons();
  EXPECT_EQ(pod_names().size(), 4u);
}

TEST_F(DaemonSetTest, MindsSelectorsAndTaints) {
  node("n2", "spec: {taints: [{key: gpu, value: \"yes\", effect: NoSchedule}]}");
  node("n3", "spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]}");
  apply(resources::daemon_sets, agent("a:1"));
  EXPECT_EQ(places(), (std::set<std::string>{"n1", "n3"}));
  run_daemons();
  // A new NoSchedule taint lets a pod stay, NoExecute does not.
  node("n1", "spec: {taints: [{key: x, effect: NoSchedule}]}");
  EXPECT_EQ(count("numberMisscheduled"), 1);
  node("n1", "spec: {taints: [{key: x, effect: NoExecute}]}");
  run_daemons();
  EXPECT_EQ(places(), std::set<std::string>{"n3"});
}

TEST_F(DaemonSetTest, OnlyWhereTheSelectorSays) {
  apply(resources::daemon_sets, agent("a:1", "", "nodeSelector: {zone: n2}, "));
  EXPECT_EQ(places(), std::set<std::string>{"n2"});
}

TEST_F(DaemonSetTest, UpdatesOneByOne) {
  apply(resources::daemon_sets, agent("a:1"));
  run_daemons();
  apply(resources::daemon_sets, agent("a:2"));
  int leaving = 0;
  for (const json::Value* pod : api_.list(resources::pods))
    leaving += !json::string_at(*pod, {"metadata", "deletionTimestamp"}).empty();
  EXPECT_EQ(leaving, 1);
  run_daemons();
  EXPECT_EQ(count("updatedNumberScheduled"), 3);
  EXPECT_EQ(pod_names().size(), 3u);
  EXPECT_EQ(api_.list(workload_resources::controller_revisions).size(), 2u);
}

// kubectl compares it byte by byte with what Go makes of the set.
TEST_F(DaemonSetTest, RevisionsHaveTheirMembersByName) {
  apply(resources::daemon_sets, agent("a:1"));
  const std::string data = json::serialize(
      *json::find(*api_.list(workload_resources::controller_revisions).front(), "data"));
  EXPECT_TRUE(data.starts_with(R"({"spec":{"template":{"$patch":"replace","metadata":{)")) << data;
  EXPECT_LT(data.find(R"("image":)"), data.find(R"("name":"main")")) << data;
}

TEST_F(DaemonSetTest, SurgesBesideTheOldPod) {
  apply(resources::daemon_sets,
        agent("a:1", "  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n"));
  run_daemons();
  apply(resources::daemon_sets, agent("a:2"));
  EXPECT_EQ(pod_names().size(), 4u);
  EXPECT_EQ(count("numberAvailable"), 3);
  run_daemons();
  EXPECT_EQ(pod_names().size(), 3u);
  EXPECT_EQ(count("updatedNumberScheduled"), 3);
}

}  // namespace
}  // namespace hekla::controllers
