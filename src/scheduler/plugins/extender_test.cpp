#include <gtest/gtest.h>

#include "json/parse.h"
#include "scheduler/builders_test.h"

namespace hekla::scheduler {
namespace {

// Answers by path, remembers what was asked.
class ScriptedHttp final : public kube::Http {
 public:
  void send(kube::HttpCall, Executor&, std::function<void(Result<kube::HttpAnswer>)>) override {
    FAIL() << "an extender is waited for";
  }
  Result<kube::HttpAnswer> fetch(kube::HttpCall call) override {
    std::string path = call.url.substr(call.url.rfind('/') + 1);
    EXPECT_EQ(call.method, "POST");
    asked[path].push_back(*json::parse(call.body));
    if (down) return fail(Code::unavailable, "no connection");
    auto found = answers.find(path);
    if (found == answers.end()) return kube::HttpAnswer{404, ""};
    return kube::HttpAnswer{200, found->second};
  }
  std::map<std::string, std::string> answers;
  std::map<std::string, std::vector<json::Value>> asked;
  bool down = false;
};

std::string configuration(const std::string& arguments, const std::string& actions = "allocate") {
  return "actions: \"" + actions +
         "\"\ntiers:\n- plugins:\n  - name: gang\n    enablePreemptable: false\n  - name: "
         "predicates\n"
         "  - name: extender\n    arguments:\n"
         "      extender.urlPrefix: http://127.0.0.1:9/x/\n" +
         arguments;
}

struct ExtenderTest : testing::Test {
  ScriptedHttp http;
  std::unique_ptr<Bench> bench(const std::string& arguments,
                               const std::string& actions = "allocate") {
    auto made = std::make_unique<Bench>(configuration(arguments, actions));
    made->session.use({nullptr, &http});
    made->node("{name: n1, cpu: 4}");
    made->node("{name: n2, cpu: 4}");
    return made;
  }
};

TEST_F(ExtenderTest, RefusesAndScoresNodes) {
  auto b = bench("      extender.predicateVerb: filter\n      extender.prioritizeVerb: score\n");
  b->node("{name: n3, cpu: 4}");
  b->group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  http.answers = {{"filter", R"({"refused": {"n1": "node(s) are haunted"}})"},
                  {"score", R"({"scores": {"n3": 10}})"}};
  const Decisions& decisions = b->run();
  ASSERT_EQ(decisions.binds.size(), 1u);
  EXPECT_EQ(b->cluster.at(decisions.binds[0].node).name, "n3");
  const json::Value& question = http.asked["filter"].at(0);
  EXPECT_EQ(json::string_at(question, {"task", "name"}), "g-0");
  EXPECT_EQ(json::string_at(question, {"task", "group"}), "g");
  EXPECT_EQ(json::string_at(question, {"task", "requests", "cpu"}), "1");
  EXPECT_EQ(json::array_at(question, {"nodes"})->size(), 3u);
  EXPECT_EQ(json::array_at(http.asked["score"].at(0), {"nodes"})->size(), 2u);
}

TEST_F(ExtenderTest, ARefusalEverywhereIsTheReason) {
  auto b = bench("      extender.predicateVerb: filter\n");
  b->group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  http.answers = {{"filter", R"({"refused": {"n1": "no", "n2": "no"}})"}};
  const Decisions& decisions = b->run();
  ASSERT_EQ(decisions.pods.size(), 1u);
  EXPECT_EQ(decisions.pods[0].message, "0/2 nodes are unavailable: 2 no.");
}

TEST_F(ExtenderTest, OneThatIsDownRefusesUnlessItMayBeIgnored) {
  http.down = true;
  auto strict = bench("      extender.predicateVerb: filter\n");
  strict->group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  const Decisions& refused = strict->run();
  ASSERT_EQ(refused.pods.size(), 1u);
  EXPECT_EQ(refused.pods[0].message, "0/2 nodes are unavailable: 2 extender: no connection.");
  auto lenient = bench(
      "      extender.predicateVerb: filter\n      extender.jobReadyVerb: ready\n"
      "      extender.queueOverusedVerb: over\n      extender.ignorable: true\n");
  lenient->group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  EXPECT_EQ(lenient->run().binds.size(), 1u);
}

TEST_F(ExtenderTest, PodsThatRequestNothingItManagesAreNotItsBusiness) {
  auto b = bench(
      "      extender.predicateVerb: filter\n      extender.managedResources: [example.com/foo]\n");
  b->node("{name: n9, cpu: 4, resources: {example.com/foo: 1}}");
  http.answers = {{"filter", R"({"refused": {"n9": "no"}})"}};
  b->group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  b->group("{name: foo, minMember: 1, pods: 1, each: {cpu: 1, resources: {example.com/foo: 1}}}");
  EXPECT_EQ(b->run().binds.size(), 1u);
  EXPECT_EQ(http.asked["filter"].size(), 2u);  // to place foo, and to explain
}

TEST_F(ExtenderTest, VotesOnGroupsAndQueues) {
  auto b = bench("      extender.jobEnqueueableVerb: may\n      extender.jobEnqueuedVerb: did\n",
                 "enqueue");
  b->group("{name: g, minMember: 1, minResources: {cpu: 1}}");
  http.answers = {{"may", R"({"vote": -1})"}, {"did", ""}};
  b->run();
  EXPECT_EQ(b->cluster.at(b->job("g")).phase, Phase::pending);
  http.answers["may"] = R"({"vote": 1})";
  b->run();
  EXPECT_EQ(b->cluster.at(b->job("g")).phase, Phase::inqueue);
  EXPECT_EQ(json::string_at(http.asked["did"].at(0), {"job", "name"}), "g");

  auto full = bench("      extender.queueOverusedVerb: over\n");
  full->group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  http.answers = {{"over", R"({"overused": true})"}};
  EXPECT_TRUE(full->run().binds.empty());
  http.answers = {{"over", R"({"overused": false})"}};
  EXPECT_EQ(full->run().binds.size(), 1u);

  auto waiting = bench("      extender.jobReadyVerb: ready\n");
  waiting->group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  http.answers = {{"ready", R"({"ready": false})"}};
  EXPECT_TRUE(waiting->run().binds.empty());
}

TEST_F(ExtenderTest, NamesVictims) {
  for (const char* action : {"preempt", "reclaim"}) {
    bool preempt = std::string_view(action) == "preempt";
    auto b = bench(preempt ? "      extender.preemptableVerb: victims\n"
                           : "      extender.reclaimableVerb: victims\n",
                   std::string("allocate, ") + action);
    b->queue("{name: other}");
    b->group(preempt ? "{name: low, minMember: 1, phase: Running}"
                     : "{name: low, minMember: 1, phase: Running, queue: other}");
    b->pod("{name: low-0, group: low, node: n1, phase: Running, cpu: 4}");
    b->pod("{name: low-1, group: low, node: n2, phase: Running, cpu: 4}");
    b->group("{name: high, minMember: 1, pods: 1, each: {cpu: 4}}");
    http.answers = {{"victims", R"({"victims": ["pod-low-1"]})"}};
    const Decisions& decisions = b->run();
    ASSERT_EQ(decisions.evictions.size(), 1u) << action;
    EXPECT_EQ(b->cluster.at(decisions.evictions[0].task).name, "low-1");
  }
}

TEST_F(ExtenderTest, IsToldOfSessionsAndPlacements) {
  auto b = bench(
      "      extender.onSessionOpenVerb: open\n      extender.onSessionCloseVerb: close\n"
      "      extender.allocateFuncVerb: placed\n      extender.deallocateFuncVerb: taken\n");
  http.answers = {{"open", "{}"}, {"close", "{}"}, {"placed", "{}"}, {"taken", "{}"}};
  b->group("{name: g, minMember: 2, pods: 2, each: {cpu: 4}}");
  b->group("{name: h, minMember: 2, pods: 2, each: {cpu: 4}}");
  b->run();
  EXPECT_EQ(json::array_at(http.asked["open"].at(0), {"nodes"})->size(), 2u);
  EXPECT_EQ(json::array_at(http.asked["open"].at(0), {"jobs"})->size(), 2u);
  EXPECT_EQ(json::string_at(http.asked["close"].at(0), {"session"}), "s1");
  ASSERT_EQ(http.asked["placed"].size(), 2u);
  EXPECT_EQ(json::string_at(http.asked["placed"][0], {"task", "node"}), "n1");
  auto half = bench("      extender.deallocateFuncVerb: taken\n");
  half->group("{name: g, minMember: 3, pods: 3, each: {cpu: 4}}");
  half->run();
  EXPECT_EQ(http.asked["taken"].size(), 2u);
}

TEST(ExtenderConfiguration, NeedsAUrl) {
  Result<Configuration> read = parse_configuration(
      "actions: allocate\ntiers:\n- plugins:\n  - name: extender\n    arguments:\n"
      "      extender.urlPrefix: localhost\n");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "scheduler configuration: tiers[0].plugins[0]: extender.urlPrefix must be an http or "
            "https URL, not \"localhost\"");
}

}  // namespace
}  // namespace hekla::scheduler
