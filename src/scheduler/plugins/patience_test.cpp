// The plugin that docs/extending.md shows, and its test.
#include <gtest/gtest.h>

#include "base/disk.h"
#include "scheduler/builders_test.h"

// patience: a job that has waited longer than patience.after (10m) goes before all others.
#include "model/time.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Patience final : public Plugin {
 public:
  explicit Patience(const Arguments& arguments) {
    Result<Nanos> after = model::parse_go_duration(arguments.text("patience.after", "10m"));
    after_ = after ? *after : std::chrono::minutes(10);
  }
  Hooks hooks() const override { return hooks_of({Hook::job_order}); }
  void open(Session& session) override { session_ = &session; }

  int job_order(JobId a, JobId b) const override {
    bool x = is_out_of_patience(a), y = is_out_of_patience(b);
    return x == y ? 0 : x ? -1 : 1;
  }

 private:
  bool is_out_of_patience(JobId id) const {
    return session_->now() - session_->at(id).created > after_;
  }

  const Session* session_ = nullptr;
  Nanos after_{};
};

}  // namespace

extern const PluginInfo plugin_patience;
const PluginInfo plugin_patience{"patience", "whoever has waited too long goes first",
                                 "patience.after (10m)",
                                 [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                                   return std::make_unique<Patience>(option.arguments);
                                 }};

}  // namespace hekla::scheduler

namespace hekla::scheduler {
namespace {

TEST(Patience, TheOneWhoHasWaitedTooLongGoesFirst) {
  for (const char* after : {"1h", "48h"}) {
    Bench b;
    Configuration configuration = *parse_configuration(
        "actions: allocate\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n");
    PluginOption option;
    option.name = "patience";
    option.arguments = Arguments(json::Object{{"patience.after", after}});
    configuration.tiers.insert(configuration.tiers.begin(), Tier{{option}});
    std::vector<const PluginInfo*> known(all_plugins().begin(), all_plugins().end());
    known.push_back(&plugin_patience);
    b.session.configure(std::move(configuration), known);
    b.clock.advance(std::chrono::hours(24));
    model::PriorityClass high;
    high.metadata.name = "high";
    high.value = 100;
    b.cluster.put(high);
    b.node("{name: n1, cpu: 1}");
    b.group("{name: old, minMember: 1, pods: 1, each: {cpu: 1}, created: 67225600}");
    b.group(
        "{name: new, minMember: 1, pods: 1, each: {cpu: 1}, priorityClassName: high, "
        "created: 67311990}");
    const Decisions& decisions = b.run();
    ASSERT_EQ(decisions.binds.size(), 1u);
    EXPECT_EQ(b.cluster.at(decisions.binds[0].task).name,
              std::string_view(after) == "1h" ? "old-0" : "new-0");
  }
}

TEST(Patience, StandsInTheDocumentAsItIsCompiled) {
  Result<std::string> document = read_file("docs/extending.md");
  Result<std::string> source = read_file("src/scheduler/plugins/patience_test.cpp");
  ASSERT_TRUE(document && source);
  std::size_t begin = document->find("```cpp\n");
  ASSERT_NE(begin, std::string::npos);
  begin += 7;
  std::string shown = document->substr(begin, document->find("```", begin) - begin);
  EXPECT_NE(source->find(shown), std::string::npos);
}

}  // namespace
}  // namespace hekla::scheduler
