// One table of the parent namespace kept as it should be: rules are made anew when something they
// depend on changes, set when they differ, and tried again when they could not be set. Lives on its
// executor.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/done.h"
#include "base/executor.h"

namespace hekla::agent {

class RulesInForce {
 public:
  struct Options {
    // Empty while what they depend on is not yet known.
    std::function<std::optional<std::string>()> make;
    std::function<void(std::string rules, Done<void> done)> set;
    std::string initially;     // what is in force without us
    std::string when_failing;  // the log's words
  };
  RulesInForce(Executor& executor, Options options);

  // Many changes in one turn of the loop, or while rules are being set, are one new set of rules.
  void changed();
  // Calls back once rules that know all of this moment are in force, or could not be set.
  void when_in_force(Done<void> done);

 private:
  void publish();
  void tell(const Result<void>& result);
  void was_set(const std::string& rules, const Result<void>& result);

  Executor& executor_;
  Options options_;
  std::string in_force_;
  std::vector<Done<void>> waiting_;  // for the next rules to be made
  std::vector<Done<void>> pledged_;  // to be told what becomes of those being set
  bool pending_ = false;             // a publish is posted
  bool in_flight_ = false;           // rules are being set
  bool failing_ = false;             // said once, not every time
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hekla::agent
