// Objects of the newer API as v1beta1 has them.
#pragma once

#include <string>

#include "json/value.h"
#include "pipelines/api/call.h"

namespace hekla::pipelines::api::v1beta1 {

json::Value experiment(const json::Value& from);
// The next ones read further rows.
Answer pipeline(Call& call, const json::Value& from);
Answer version(Call& call, const json::Value& from);
Answer run(Call& call, const json::Value& from);
Answer job(Call& call, const json::Value& from);
// {run, pipeline_runtime}.
Answer run_detail(Call& call, const json::Value& from);

// A run or job that a client describes, as the newer API has it: references and manifest become
// members of their own.
Result<json::Object> described(Call& call, const json::Value& body, const char* kind);

}  // namespace hekla::pipelines::api::v1beta1
