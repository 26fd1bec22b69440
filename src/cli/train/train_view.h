// The view of `hekla train`: on a terminal a block that is drawn anew (the job, a line for each
// replica with its state, progress and last log line), elsewhere plain lines; and what it remembers
// for the sentence at the end.
#pragma once

#include <cstdio>
#include <deque>
#include <map>
#include <string>

#include "base/clock.h"
#include "cli/jobs/follow.h"
#include "cli/train/log_progress.h"

namespace hekla::cli {

class TrainView final : public FollowView {
 public:
  // `live`: `out` is a terminal; `job` is its name, which replicas' names begin with.
  TrainView(std::FILE* out, bool live, std::string job, MonoTime begin);

  void job_changed(const JobRef& job, const JobState& state) override;
  void pod_changed(const PodNews& pod) override;
  void warned(const Warning& warning) override;
  void log_line(const std::string& pod, const std::string& line) override;

  // The block as it stands, for the last time.
  void finish();
  // The module that some replica could not import; empty: none.
  const std::string& missing() const { return missing_; }
  // The end of the log of the replica that failed first; empty: none has failed.
  std::string last_words() const;

 private:
  struct Replica {
    std::string state = "Pending", trouble;
    LogProgress progress;
    std::deque<std::string> lines;  // the last few
  };

  std::string short_name(const std::string& pod) const;
  void say(const std::string& text);
  void draw();
  void erase_block();
  std::string block(std::size_t width) const;

  std::FILE* const out_;
  const bool live_;
  const std::string job_;
  const MonoTime begin_;
  std::string title_, state_ = "Created", note_, missing_, failed_;
  std::map<std::string, Replica> replicas_;  // by pod
  std::size_t drawn_ = 0;                    // lines of the block on the screen
};

}  // namespace hekla::cli
