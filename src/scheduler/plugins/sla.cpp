// sla: no job waits for ever. A job with a waiting time (annotation sla-waiting-time on its pod
// group, or the argument for all) goes before those without one, the earlier deadline first; once
// it has waited that long, it is let in and keeps its claim whatever plugins of lower tiers say.
// Argument: sla-waiting-time, a duration like 1h2m3s (none).
#include "model/time.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Sla final : public Plugin {
 public:
  explicit Sla(const Arguments& arguments) : limit_(read(arguments.text("sla-waiting-time"))) {
    if (!limit_ && !arguments.text("sla-waiting-time").empty())
      arguments.complain("sla-waiting-time", "a duration like 1h");
  }
  Hooks hooks() const override {
    return hooks_of({Hook::job_order, Hook::job_enqueueable, Hook::job_pipelined});
  }
  void open(Session& session) override {
    session_ = &session;
    limits_.assign(session.cluster().jobs().size(), limit_);
    for (JobId id : session.jobs())
      for (std::string_view key : {"volcano.sh/sla-waiting-time", "sla-waiting-time"})
        if (std::optional<Nanos> own = read(session.at(id).annotation(key))) {
          limits_[id.index()] = own;
          break;
        }
  }

  int job_order(JobId a, JobId b) const override {
    std::optional<Nanos> x = limit(a), y = limit(b);
    if (!x || !y) return x ? -1 : y ? 1 : 0;
    WallTime left = session_->at(a).created + *x, right = session_->at(b).created + *y;
    return left == right ? 0 : left < right ? -1 : 1;
  }
  Vote job_enqueueable(JobId id) override { return vote(id); }
  Vote job_pipelined(JobId id) override { return vote(id); }

 private:
  static std::optional<Nanos> read(std::string_view text) {
    if (text.empty()) return std::nullopt;
    Result<Nanos> parsed = model::parse_go_duration(text);
    if (!parsed || parsed->count() <= 0) return std::nullopt;
    return *parsed;
  }
  const std::optional<Nanos>& limit(JobId id) const { return limits_[id.index()]; }
  Vote vote(JobId id) const {
    std::optional<Nanos> waits = limit(id);
    if (!waits || session_->now() - session_->at(id).created < *waits) return Vote::abstain;
    return Vote::permit;
  }

  const Session* session_ = nullptr;
  std::optional<Nanos> limit_;
  std::vector<std::optional<Nanos>> limits_;  // by job
};

}  // namespace

extern const PluginInfo plugin_sla;
const PluginInfo plugin_sla{"sla", "no job waits longer than agreed", "sla-waiting-time (none)",
                            [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                              return std::make_unique<Sla>(option.arguments);
                            }};

}  // namespace hekla::scheduler
