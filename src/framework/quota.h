// What one pod of a template counts for in PodGroup.spec.minResources: the arithmetic of
// Kubernetes' resource quota, plus extended resources under their bare names, as Volcano has it.
#pragma once

#include "json/value.h"
#include "model/core.h"

namespace hekla::framework {

// `pod_template` has metadata and spec. Requests a container leaves out come from its limits, as
// the API server will default them; Volcano looks at the template before that and charges nothing.
Result<model::ResourceList> pod_quota_usage(const json::Value& pod_template);
model::ResourceList pod_quota_usage(model::PodSpec spec);

// usage * times, added to `total`.
void add_times(model::ResourceList& total, const model::ResourceList& usage, std::int64_t times);

}  // namespace hekla::framework
