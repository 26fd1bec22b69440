// Containers by crun or runc under conmon. conmon outlives us: it holds stdio, writes the log and
// leaves the exit code in a file, so nothing is lost when Hekla is killed. Every call blocks and is
// made on a thread inside the instance's mount namespace; calls for different containers may run in
// parallel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/os/instance.h"
#include "agent/runtime/programs.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::agent {

struct ContainerExit {
  int code = 0;
  bool oom_killed = false;
  WallTime finished;
};

struct CreateRequest {
  std::string id;
  std::string bundle;  // directory, exists; config.json is written into it
  std::string log_path;
  json::Value config;
  bool terminal = false;
  bool keep_stdin_open = false;
  bool stdin_once = false;  // the first client to leave closes it
  // Written by us before the start: crun would do it as the container's own user, who may not
  // lower it.
  int oom_score_adjust = 0;
};

// The state of a container in crun's words.
enum class RuntimeStatus { unknown, created, running, stopped };

class ContainerRuntime {
 public:
  ContainerRuntime(InstancePaths paths, RuntimePrograms programs)
      : paths_(std::move(paths)), programs_(std::move(programs)) {}

  const std::string& program() const { return programs_.runtime; }
  // Before the first container.
  void set_program(std::string path) { programs_.runtime = std::move(path); }

  // The container exists and waits for start(). The error is crun's own text.
  Result<void> create(const CreateRequest& request);
  Result<void> start(const std::string& id);
  // Other limits for a running one: resources as in the OCI configuration.
  Result<void> update(const std::string& id, const std::string& bundle,
                      const json::Object& resources);
  RuntimeStatus status(const std::string& id);
  // Signals the container's first process. A container that is gone is not an error.
  Result<void> signal(const std::string& id, int number);
  // Kills what still runs and removes the container, its monitor and, unless it is empty, its
  // cgroup. Idempotent.
  Result<void> remove(const std::string& id, const std::string& bundle, const std::string& cgroup);

  // The exit as conmon recorded it, if it has. Reads the OOM counter: call it before remove().
  std::optional<ContainerExit> exit_of(const std::string& id, const std::string& cgroup);
  // False when nobody would record this container's exit any more.
  bool is_monitored(const std::string& id, const std::string& bundle);

 private:
  std::string exit_file(const std::string& id) const { return paths_.exits() + "/" + id; }
  Result<std::string> call(
      std::vector<std::string> words) const;  // the runtime, with its state's place
  InstancePaths paths_;
  RuntimePrograms programs_;
};

}  // namespace hekla::agent
