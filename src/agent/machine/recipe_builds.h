// Builds of recipes for pods: one at a time, each as a process `hekla image build RECIPE` of its
// own, since a build lives in namespaces of its own. Lives on the agent's executor.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/pod/pod_machine.h"
#include "base/executor.h"
#include "base/loop.h"

namespace hekla::agent {

class RecipeBuilds {
 public:
  RecipeBuilds(std::string data_dir, Executor& executor)
      : data_dir_(std::move(data_dir)), executor_(executor) {}
  // Ends the build under way; nobody is answered any more.
  ~RecipeBuilds();

  // Askers for a recipe that is being built, or waits to be, share the build.
  void build(const std::string& recipe, BuildProgress progress, Done<void> done);
  // The build under way is ended, and nothing more is begun.
  void stop();

 private:
  struct Asker {
    BuildProgress progress;
    Done<void> done;
  };
  void begin_next();
  void work(const std::string& recipe);
  Result<void> run_build(const std::string& recipe);
  void tell(const std::string& recipe, const std::string& text);
  void finished(const std::string& recipe, const Result<void>& outcome);

  const std::string data_dir_;
  Executor& executor_;
  std::map<std::string, std::vector<Asker>> askers_;  // by recipe
  std::deque<std::string> queue_;                     // the first is under way
  std::atomic<bool> stopping_ = false;
  std::shared_ptr<const bool> life_ = std::make_shared<bool>(true);
  WorkerPool pool_{"hekla-builds", 1};
};

}  // namespace hekla::agent
