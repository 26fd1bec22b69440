// A run in the records, as the driver needs it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipelines/engine/run.h"
#include "records/database.h"

namespace hekla::pipelines::store {

struct RunRecord {
  engine::Run run;
  json::Value package;  // the spec as the API shows it
  std::string ns, service_account;
  std::string queue;  // of the scheduler, for its pods; empty: they are in none
  std::string state;  // RUNNING, as the API names it
};

// not_found when there is none.
Result<RunRecord> load_run(records::Database& database, const std::string& id);
// Ids of the runs that have not ended.
Result<std::vector<std::string>> open_runs(records::Database& database);

// Nodes that have changed and the run's own state, in one transaction with the caller's.
Result<void> save_nodes(records::Database& database, const engine::Run& run,
                        const std::set<std::string>& changed);
// PENDING, RUNNING, ...: also into the history, once. A final state closes the run.
Result<void> set_state(records::Database& database, const std::string& id, std::string_view state,
                       const std::string& error, WallTime now);

// The cache: outputs of the newest equal task of a pipeline in a namespace.
Result<std::optional<json::Object>> cached_outputs(records::Database& database,
                                                   const std::string& fingerprint,
                                                   const std::string& pipeline,
                                                   const std::string& ns);
Result<void> remember_outputs(records::Database& database, const engine::Run& run,
                              const engine::Node& node, const std::string& pipeline,
                              const std::string& ns, WallTime now);

}  // namespace hekla::pipelines::store
