// A step's outputs from what its launcher has left behind.
#pragma once

#include <string>

#include "json/value.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::driver {

// {parameterValues, artifacts} from the result's text and the executor's input. Errors are for
// people: an output that was declared and never written, a text that is no number.
Result<json::Object> step_outputs(const ir::Component& component, const json::Value& executor_input,
                                  const json::Value& result);

}  // namespace hekla::pipelines::driver
