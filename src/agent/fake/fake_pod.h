// How a pod on a fake node plays its part: how long it runs and how it ends. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "model/core.h"

namespace hekla::agent {

struct FakePlan {
  std::optional<Nanos> duration;  // nullopt: runs until it is deleted
  int exit_code = 0;
};

// The annotations hekla.io/run-duration (Go duration) and hekla.io/exit-code decide; without them a
// plain `sleep N`, `exit K` or `sleep N; exit K` in the first container's command is played;
// anything else runs for ever.
FakePlan fake_plan(const model::Pod& pod);

// `sleep` arguments as coreutils reads them: "10", "2.5", "10m", "1h"; nullopt when it is not that.
std::optional<Nanos> parse_sleep(const std::string& text);

// The status a kubelet would report for the pod in that state; a merge patch for the status
// subresource.
json::Value fake_running_status(const model::Pod& pod, const std::string& pod_ip,
                                const std::string& host_ip, WallTime now);
json::Value fake_finished_status(const model::Pod& pod, int exit_code, WallTime now);
// The container ended and, by its restart policy, starts again at once.
json::Value fake_restarted_status(const model::Pod& pod, int exit_code, WallTime now);
bool fake_restarts(const model::Pod& pod, int exit_code);

}  // namespace hekla::agent
