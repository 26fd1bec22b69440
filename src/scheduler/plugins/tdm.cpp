// tdm: nodes shared by time of day. A node with the label volcano.sh/revocable-zone is open only in
// that zone's hours, and only to revocable pods (annotation volcano.sh/revocable-zone "*", or
// volcano.sh/preemptable "true"), which prefer it. When the hours end, revocable pods leave (the
// shuffle action), every tdm.evict.period so many per job as its budget allows
// (volcano.sh/jdb-max-unavailable or jdb-min-available on the pod group, number or percentage; 1
// without either). Elsewhere jobs that are not preemptable may take the place of running
// preemptable pods, within the same budget, and go first. Arguments: tdm.revocable-zone.<zone>:
// "HH:MM-HH:MM" (an end before the start is on the next day; hours are UTC), tdm.evict.period (1m).
#include <algorithm>
#include <charconv>
#include <map>

#include "model/time.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr std::string_view kZoneArgument = "tdm.revocable-zone.";
constexpr std::int64_t kMinutesPerDay = 24 * 60;

std::optional<std::int64_t> minute_of_day(std::string_view text) {
  std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::int64_t hours = -1, minutes = -1;
  std::from_chars(text.data(), text.data() + colon, hours);
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), minutes);
  if (hours < 0 || hours > 24 || minutes < 0 || minutes > 59) return std::nullopt;
  return hours * 60 + minutes;
}

class TimeDivision final : public Plugin {
 public:
  explicit TimeDivision(const Arguments& arguments) {
    for (const auto& [zone, text] : arguments.texts_after(kZoneArgument)) {
      std::string_view hours = text;
      std::size_t dash = std::min(hours.find('-'), hours.size());
      auto from = minute_of_day(hours.substr(0, dash));
      auto to = minute_of_day(hours.substr(std::min(dash + 1, hours.size())));
      if (from && to)
        zones_[zone] = {*from, *to};
      else
        arguments.complain(std::string(kZoneArgument) + zone, "hours like 10:00-21:00");
    }
    period_ = arguments.duration("tdm.evict.period", std::chrono::minutes(1));
  }
  Hooks hooks() const override {
    return hooks_of({Hook::task_predicate, Hook::batch_node_order, Hook::preemptable,
                     Hook::victim_tasks, Hook::job_order, Hook::job_pipelined, Hook::job_starving});
  }
  void open(Session& session) override {
    session_ = &session;
    key_ = session.cluster().names().find("volcano.sh/revocable-zone");
    closed_ = session.reasons().intern("node(s) in a revocable zone that is closed");
    not_revocable_ = session.reasons().intern("node(s) in a revocable zone");
    zone_of_.assign(session.cluster().nodes().size(), Zone::none);
    std::map<NameId, Zone> known;
    for (std::size_t i = 0; i < zone_of_.size(); ++i) {
      const Node& node = session.cluster().nodes()[i];
      NameId name = node.live && key_.valid() ? node.shape.label(key_) : NameId();
      if (!name.valid() || session.cluster().names().text(name).empty()) continue;
      auto [at, fresh] = known.emplace(name, Zone::closed);
      if (fresh && is_open(session.cluster().names().text(name))) at->second = Zone::open;
      zone_of_[i] = at->second;
    }
    any_ = !known.empty();
  }

  bool concerns(TaskId) const override { return any_; }
  void filter_task(TaskId id, std::span<const NodeId> nodes, std::span<ReasonId> reasons) override {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Zone zone = zone_of_[nodes[i].index()];
      if (zone == Zone::none || reasons[i] != kFeasible) continue;
      if (zone == Zone::closed)
        reasons[i] = closed_;
      else if (!session_->at(id).revocable)
        reasons[i] = not_revocable_;
    }
  }
  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    if (!session_->at(id).revocable) return;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (zone_of_[nodes[i].index()] != Zone::none) scores[i] += 100;
  }

  int job_order(JobId a, JobId b) const override {
    bool x = session_->at(a).preemptable, y = session_->at(b).preemptable;
    return x == y ? 0 : x ? 1 : -1;
  }
  Vote job_pipelined(JobId id) override {
    const Job& job = session_->at(id);
    return job.is_pipelined() ? Vote::permit : Vote::reject;
  }
  bool job_starving(JobId id) override {
    const Job& job = session_->at(id);
    return !job.preemptable && job.of(TaskStatus::pending) > 0;
  }

  Victims preemptable(TaskId preemptor, std::span<const TaskId> candidates) override {
    Victims victims;
    if (is_preemptable(session_->at(preemptor)) || session_->at(preemptor).revocable)
      return {true, {}};
    std::vector<TaskId> running;
    for (TaskId id : candidates) {
      const Task& task = session_->at(id);
      if (is_preemptable(task) && task.status == TaskStatus::running && task.node.valid() &&
          zone_of_[task.node.index()] == Zone::none)
        running.push_back(id);
    }
    victims.tasks = within_budget(running);
    return victims;
  }

  std::vector<TaskId> victim_tasks(std::span<const TaskId> running) override {
    if (last_eviction_ != WallTime{} && session_->now() < last_eviction_ + period_) return {};
    last_eviction_ = session_->now();
    std::vector<TaskId> leaving;
    for (TaskId id : running) {
      const Task& task = session_->at(id);
      if (!task.node.valid() || !is_preemptable(task)) continue;
      if (zone_of_[task.node.index()] == Zone::closed) leaving.push_back(id);
    }
    return within_budget(leaving);
  }

 private:
  struct Hours {
    std::int64_t from = 0, to = 0;
  };
  enum class Zone : std::uint8_t { none, open, closed };

  bool is_open(const std::string& zone) const {
    auto found = zones_.find(zone);
    if (found == zones_.end()) return false;
    auto minutes =
        std::chrono::duration_cast<std::chrono::minutes>(session_->now().time_since_epoch())
            .count();
    std::int64_t now = minutes % kMinutesPerDay;
    const Hours& hours = found->second;
    if (hours.from <= hours.to) return now >= hours.from && now < hours.to;
    return now >= hours.from || now < hours.to;
  }
  bool is_preemptable(const Task& task) const {
    return task.revocable || (task.job.valid() && session_->at(task.job).preemptable);
  }

  // "3" or "30%" of the job's pods.
  static std::optional<std::int32_t> amount(std::string_view text, std::size_t pods) {
    std::int32_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc()) return std::nullopt;
    if (end == text.data() + text.size()) return value;
    if (*end != '%') return std::nullopt;
    return static_cast<std::int32_t>((static_cast<std::size_t>(value) * pods + 99) / 100);
  }
  std::int32_t budget(const Job& job) const {
    std::int32_t running = job.of(TaskStatus::running);
    auto pods = static_cast<std::int32_t>(job.tasks.size());
    if (auto most = amount(job.annotation("volcano.sh/jdb-max-unavailable"), job.tasks.size()))
      return std::max(*most - (pods - running), 0);
    if (auto least = amount(job.annotation("volcano.sh/jdb-min-available"), job.tasks.size()))
      return std::max(running - *least, 0);
    return 1;
  }
  std::vector<TaskId> within_budget(std::span<const TaskId> tasks) const {
    std::map<JobId, std::int32_t> left;
    std::vector<TaskId> out;
    for (TaskId id : tasks) {
      JobId job = session_->at(id).job;
      if (!job.valid()) continue;
      std::int32_t& allowed = left.emplace(job, budget(session_->at(job))).first->second;
      if (allowed-- > 0) out.push_back(id);
    }
    return out;
  }

  const Session* session_ = nullptr;
  std::map<std::string, Hours> zones_;
  Nanos period_;
  WallTime last_eviction_{};
  NameId key_;
  bool any_ = false;
  std::vector<Zone> zone_of_;  // by node, as of this session's time
  ReasonId closed_ = 0, not_revocable_ = 0;
};

}  // namespace

extern const PluginInfo plugin_tdm;
const PluginInfo plugin_tdm{"tdm", "nodes shared by time of day",
                            "tdm.revocable-zone.<zone> (HH:MM-HH:MM), tdm.evict.period (1m)",
                            [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                              return std::make_unique<TimeDivision>(option.arguments);
                            }};

}  // namespace hekla::scheduler
