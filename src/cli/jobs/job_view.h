// The view of jobs that are followed in the foreground. On a terminal a block that is drawn anew:
// for each job the stages of its gang, then a line for each replica with its state, progress and
// loss; elsewhere plain lines. It remembers what the sentence at the end needs.
#pragma once

#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/jobs/follow.h"
#include "cli/jobs/log_progress.h"
#include "cli/live/screen.h"
#include "cli/live/terminal.h"

namespace hekla::cli {

struct JobViewOptions {
  bool live = false;        // `out` is a terminal
  bool logs_scroll = true;  // log lines pass by above the block; else only the last one is shown
};

class JobView final : public FollowView {
 public:
  JobView(std::FILE* out, JobViewOptions options, std::vector<JobRef> jobs);

  void job_changed(const JobRef& job, const JobState& state) override;
  void pod_changed(const PodNews& pod) override;
  void warned(const Warning& warning) override;
  void log_line(const std::string& pod, const std::string& line) override;
  void explained(const JobRef& job, const std::string& text) override;
  void tick() override;

  // The block as it stands, for the last time.
  void finish();
  // The module that some replica could not import; empty: none.
  const std::string& missing() const { return missing_; }
  // The end of the log of the replica that failed first; empty: none has failed.
  std::string last_words() const;

 private:
  struct Replica {
    std::string state = "Pending", trouble;
    bool placed = false, gone = false;
    LogProgress progress;
    std::deque<double> losses;
    std::deque<std::string> lines;  // the last few
  };
  // When each stage was reached.
  struct Part {
    JobRef job;
    JobState state;
    std::string note;
    std::map<std::string, Replica> replicas;  // by pod
    std::optional<MonoTime> placed, running, ended;
  };

  struct ReplicaWords {
    std::string state, trouble;
  };

  static ReplicaWords words_of(const Part& part, const Replica& replica);
  Part* part_of(const std::string& pod);
  std::string short_name(const Part& part, const std::string& pod) const;
  void say(const std::string& text);
  void draw();
  void see_stages(Part& part);
  std::string stages(const Part& part) const;
  std::string replica_lines(const Part& part, std::size_t width) const;
  std::string note_lines(const Part& part, std::size_t width) const;
  std::string block(std::size_t width) const;

  const JobViewOptions options_;
  Screen screen_;
  const Paint paint_;
  const MonoTime begin_ = real_clock().mono();
  std::vector<Part> parts_;
  std::map<std::string, std::size_t> part_by_pod_;
  std::string missing_, failed_;
  std::uint64_t tick_ = 0;
};

}  // namespace hekla::cli
