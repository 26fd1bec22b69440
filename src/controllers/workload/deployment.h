// Deployments: replica sets per template, rolled over in steps.
#pragma once

#include "controllers/workload/objects.h"

namespace hekla::controllers {

// A replica set while a round is being planned: `replicas` is what it will be asked for.
struct RolloutSet {
  AnyRef object;
  std::int64_t replicas = 0;

  std::int64_t available() const { return json::int_at(object->status, {"availableReplicas"}); }
  std::int64_t revision() const;
};

// A Deployment with its sets, the old ones oldest first.
struct Rollout {
  const AnyObject& deployment;
  std::vector<RolloutSet> old;
  std::optional<RolloutSet> current;

  std::int64_t wanted() const { return replicas_of(deployment); }
  std::int64_t max_surge() const;
  std::int64_t max_unavailable() const;
  bool rolling() const;
  bool paused() const { return json::bool_at(deployment.spec, {"paused"}); }
  std::int64_t total() const;
  std::vector<RolloutSet*> all();
};

// Splits the sets into the current one (same template) and the old ones.
Rollout rollout_of(const AnyObject& deployment, const std::vector<AnyRef>& sets);

// How many replicas the current set may have now.
std::int64_t current_set_size(const Rollout& rollout, std::int64_t present);
// One step each; what changes is in RolloutSet::replicas. True when something changes.
bool grow_current(Rollout& rollout);
bool shrink_old(Rollout& rollout);
// Another number of replicas in the middle of a rollout is shared out in proportion.
void scale_in_proportion(Rollout& rollout);

// The status after this round. `created` and `found` name the event of the current set's discovery.
json::Object deployment_status(const Rollout& rollout, WallTime now, bool created,
                               std::optional<Nanos>& wait);
bool deployment_complete(const Rollout& rollout, const json::Object& status);

KindDescription deployment_kind();

}  // namespace hekla::controllers
