// One run's next steps. All functions change the given Run and say which nodes they have changed;
// the caller writes those down before anything else happens.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::engine {

// Iterations of one loop and nodes of one run: beyond them the loop fails, in words.
inline constexpr std::size_t kIterationsMax = 10'000;
inline constexpr std::size_t kNodesMax = 100'000;
// Groups within groups: a pipeline that calls itself without end fails, too.
inline constexpr std::ptrdiff_t kDepthMax = 500;

struct Step {
  std::set<std::string> changed;    // ids of nodes
  std::optional<WallTime> wake_at;  // when advance() has something to do even if nothing ends
};

// Does everything that is due: begins the root, starts tasks, expands loops, ends DAGs, begins
// attempts anew. Container nodes end up `checking` (ask the cache, then answer_cache) or `pending`
// (make the pod); create_pvc, delete_pvc and resource `pending`.
Step advance(const ir::Pipeline& pipeline, Run& run, WallTime now);

struct NodeEnd {
  std::string id;
  int attempt = 0;  // an end of any other attempt is ignored
  bool succeeded = false;
  json::Object outputs;  // {parameterValues, artifacts}
  std::string error;
  bool retriable = true;
};
// The node's work has begun (once per attempt), or has ended. False: nothing changed.
bool begin_node(Run& run, const std::string& id, WallTime now);
bool end_node(const ir::Pipeline& pipeline, Run& run, const NodeEnd& end, WallTime now);
// The cache answers: the outputs, or nothing.
bool answer_cache(Run& run, const std::string& id, const std::optional<json::Object>& outputs,
                  WallTime now);

// Cancels what runs; exit-style tasks still run, once. advance() follows.
Step terminate(Run& run, WallTime now);
// After the end of a run that failed or was terminated: what did not succeed is begun again,
// outputs of what did are kept. advance() follows.
Step retry(Run& run);

}  // namespace hekla::pipelines::engine
