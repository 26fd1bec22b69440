// One round of one job: what it looks at and what comes out. Rounds are pure: everything they read
// is in the view, everything they do is in the plan.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/vocabulary.h"
#include "controllers/volcano/job/plugin.h"
#include "model/volcano.h"

namespace hekla::controllers {

using PodRef = std::shared_ptr<const model::Pod>;

struct JobView {
  std::shared_ptr<const model::VcJob> job;
  std::vector<PodRef> pods;  // controlled by this very job, by name
  std::shared_ptr<const model::PodGroup> pod_group;
  std::shared_ptr<const model::Queue> queue;
  std::vector<ActivePlugin> plugins;
  std::optional<Error> plugin_error;  // a plugin the job asks for does not exist
  std::function<std::int32_t(const std::string&)> priority_of;  // unknown classes are 0
  std::function<bool(const std::string&)> claim_exists;         // in the job's namespace
  // Marks of controlledResources whose objects this process has made, though the status may not say
  // so yet; and those whose objects it has removed, though the status still names them.
  std::set<std::string> prepared, removed;
  WallTime now;
};

// What a write is for decides what its failure means.
enum class Purpose { pod_create, pod_mark, pod_delete, status, plugin, claim, pod_group, spec };

struct Planned {
  kube::Write write;
  Purpose purpose;
};

struct Plan {
  std::vector<Planned> writes;
  std::vector<EventText> events;
  // The round cannot be computed; retried with back-off, and the job is terminated in the end.
  std::optional<Error> error;
  // The round is only a first part: its requests stay, and it runs again after this time.
  std::optional<Nanos> again_after;
  // Another round follows as soon as the writes have succeeded.
  bool goes_on = false;
  // Uids of pods this round kills: their end is not an eviction.
  std::vector<std::string> killed;
  bool phase_changed = false;
  // What is prepared once all of the round's writes have succeeded. The status carries a mark only
  // after that: a crash in between makes the objects again instead of forgetting them.
  std::vector<std::string> prepares;
  bool clears_prepared = false;
  // The same for removals: the status gives a mark up only in the round after them.
  std::vector<std::string> removes;

  void add(Purpose purpose, kube::Write write) { writes.push_back({std::move(write), purpose}); }
};

// When an unfinished job that limits its time (the annotation
// hekla.io/active-deadline-seconds) must end: counted from its oldest pod.
std::optional<WallTime> deadline_of(const JobView& view);

bool is_out_of_sync(const model::Pod& pod);
// The version of the job a pod was created with; nullopt when it carries none.
std::optional<std::int32_t> pod_version(const model::Pod& pod);

}  // namespace hekla::controllers
