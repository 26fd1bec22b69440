// A run from its description, whoever asks for it: a client, or a schedule.
#pragma once

#include <string>

#include "pipelines/api/call.h"
#include "pipelines/ir/fields.h"
#include "pipelines/ir/read.h"

namespace hekla::pipelines::api {

constexpr const char* kDefaultRoot = "minio://mlpipeline/v2/artifacts";

// A pipeline that a run or a recurring run names, or brings.
struct Source {
  std::string pipeline_id, version_id;
  ir::Package package;
};
// Takes pipelineSpec, pipelineVersionReference and pipelineVersionId.
Result<Source> source_of(Call& call, ir::Fields& fields);
// The pipeline of a source, if this server can run it.
Result<ir::Pipeline> runnable(const Source& source);

// A run's parameters as the pipeline takes them: those of a Workflow are texts.
json::Object given_to(const ir::Pipeline& pipeline, json::Object parameters);

// The experiment, or the default one; it takes runs.
Result<std::string> checked_experiment(Call& call, std::string id);

struct RunOrigin {
  std::string id;
  std::string recurring_run_id = {};
  std::int64_t scheduled = 0;  // milliseconds; 0: now
  // Of a Workflow that somebody has made as an object: its place. Otherwise a name is made up.
  std::string ns = {}, resource_name = {};
};
// Writes the run that `body` describes and touches it. The answer is its id.
Result<std::string> insert_run(Call& call, const json::Value& body, const RunOrigin& origin);

}  // namespace hekla::pipelines::api
