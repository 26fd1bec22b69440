// A run on the screen: on a terminal a tree that is drawn anew, elsewhere a line for each step that
// begins or ends.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "json/value.h"

namespace hekla::cli {

// A step as it is shown: of a task of the API.
struct ShownStep {
  std::string path, name, state, reason, error, pod;
  std::string created, started, ended;  // as the API has them
  int iteration = -1;
};
ShownStep shown_step(const json::Value& task);

// The tree below a run's first line: what stands in something is below it; iterations that went
// well are only counted. `now` is what durations of running steps end with.
std::string steps_text(const std::vector<ShownStep>& steps, WallTime now);

class RunView {
 public:
  // `live`: `out` is a terminal.
  RunView(std::FILE* out, bool live, std::string title)
      : out_(out), live_(live), title_(std::move(title)) {}

  void update(const std::string& state, const std::vector<ShownStep>& steps, WallTime now);
  // The tree stays as it is.
  void finish();
  // Names of steps from here on have their path: "for-loop-1/2/score".
  static std::string label_of(const ShownStep& step);

 private:
  void draw(const std::string& state, const std::vector<ShownStep>& steps, WallTime now);

  std::FILE* const out_;
  const bool live_;
  const std::string title_;
  std::map<std::string, std::string> told_;  // states by path
  std::string told_run_;
  std::size_t drawn_ = 0;  // lines on the screen
};

}  // namespace hekla::cli
