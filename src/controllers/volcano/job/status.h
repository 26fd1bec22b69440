// The status of a job: counters from its pods, conditions, and the patch that carries a change.
#pragma once

#include "controllers/volcano/job/round.h"

namespace hekla::controllers {

struct PodCounts {
  std::int32_t pending = 0, running = 0, succeeded = 0, failed = 0, terminating = 0, unknown = 0;
  std::map<std::string, model::TaskState> tasks;

  // A pod that is being deleted only counts as terminating.
  void add(const model::Pod& pod);
  void add(const std::string& task, const std::string& phase);
};

// The role a pod belongs to; empty when it carries none.
const std::string& role_of(const model::Pod& pod);

// `before` with these counters; phase, conditions, version and retries stay.
model::VcJobStatus with_counts(const model::VcJobStatus& before, const model::VcJobSpec& spec,
                               const PodCounts& counts);

// Whether a job in this phase makes what its plugins want. In such a phase a mark says that the
// objects are there; in any other that they may still be.
bool may_make_objects(const model::VcJobStatus& status);
// "plugin-svc"
std::string plugin_mark(const ActivePlugin& active);
// Brings the marks over a change of phase: a job that ends marks everything that might be left, one
// that is resumed forgets the marks and makes the objects again.
void mark_plugin_objects(const JobView& view, const model::VcJobStatus& before,
                         model::VcJobStatus& after);

// The current phase as of now: its condition moves to the end.
void stamp(model::VcJobStatus& status, WallTime now);

bool same(const model::VcJobStatus& a, const model::VcJobStatus& b);

// A merge patch on the status subresource, tied to the revision of `job` it was computed from.
kube::Write status_patch(const model::VcJob& job, const model::VcJobStatus& after);

}  // namespace hekla::controllers
