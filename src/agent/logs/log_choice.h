// Which log is meant: the container, and which of its runs, with the API's own words when there is
// none.
#pragma once

#include <string>

#include "agent/record/pod_record.h"
#include "base/result.h"

namespace hekla::agent {

// Index into record.containers. An empty name means the only container.
Result<std::size_t> choose_log_container(const PodRecord& record, const std::string& name);

// The run that has begun last, or the one before it with `previous`.
Result<const ContainerRun*> choose_log_run(const PodRecord& record,
                                           const ContainerRecord& container,
                                           const model::PodStatus& status, bool previous);

}  // namespace hekla::agent
