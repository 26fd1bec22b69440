// Recurring runs that are due become runs.
#pragma once

#include "pipelines/api/call.h"

namespace hekla::pipelines::api {

// Makes them, and answers when the next one is due, in milliseconds since 1970: 0 for never. One
// that waits for its earlier runs to end is due still.
Result<std::int64_t> run_what_is_due(Call& call);

}  // namespace hekla::pipelines::api
