// Outputs of DAGs, loops and importers, items of loops, and what retrying needs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::engine {

Result<json::Array> loop_items(const ir::Iterator& iterator, const Node& loop);
json::Object with_item(const ir::Iterator& iterator, const json::Object& inputs,
                       const json::Value& item);

// Each output of the DAG from the first of its tasks that has it.
Result<json::Object> dag_outputs(const Run& run, const Node& dag, const ir::Dag& tasks);
// Lists over the members in order; lists of inner loops are laid end to end.
json::Object loop_outputs(const ir::Pipeline& pipeline, const Node& loop,
                          const std::vector<const Node*>& members);
Result<json::Object> importer_outputs(const ir::Pipeline& pipeline, const Run& run,
                                      const Node& node);

// The begin of the next attempt; nothing when there is none.
std::optional<WallTime> next_attempt(const ir::RetryPolicy& policy, const Node& node, WallTime now);
// All nodes below this one are to be begun again.
void reset_below(Run& run, const std::string& id, std::set<std::string>& changed);

}  // namespace hekla::pipelines::engine
