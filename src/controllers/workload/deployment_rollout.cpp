// The arithmetic of rollouts.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "controllers/workload/deployment.h"

namespace hekla::controllers {
namespace {

std::int64_t annotated_number(const model::ObjectMeta& metadata, const std::string& name,
                              std::int64_t otherwise) {
  const std::string& text = metadata.annotation(name);
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? number : otherwise;
}

bool same_template(const AnyObject& set, const AnyObject& deployment) {
  json::Value without_hash = template_of(set);
  if (!without_hash.is_object()) return false;
  json::Value& labels = json::at_path(without_hash, {"metadata", "labels"});
  if (labels.is_object()) labels.get_object().erase("pod-template-hash");
  return json::equal(without_hash, template_of(deployment));
}

bool by_age(const RolloutSet& a, const RolloutSet& b) {
  const auto &x = a.object->metadata, &y = b.object->metadata;
  if (x.creationTimestamp != y.creationTimestamp)
    return x.creationTimestamp.at < y.creationTimestamp.at;
  return x.name < y.name;
}

std::int64_t rolling_number(const Rollout& rollout, std::string_view member, bool up) {
  const json::Value* value =
      json::find_path(rollout.deployment.spec, {"strategy", "rollingUpdate", member});
  json::Value otherwise("25%");
  return int_or_percent(value ? value : &otherwise, rollout.wanted(), up, 0);
}

// What a set gains (or loses) when the Deployment's allowed size changes by `change`.
std::int64_t share_of(const Rollout& rollout, const RolloutSet& set, std::int64_t change,
                      std::int64_t given) {
  if (set.replicas == 0 || change == 0 || change == given) return 0;
  std::int64_t share = -set.replicas;
  if (rollout.wanted() > 0) {
    std::int64_t before =
        annotated_number(set.object->metadata, "deployment.kubernetes.io/max-replicas",
                         json::int_at(rollout.deployment.status, {"replicas"}));
    std::int64_t after = rollout.wanted() + rollout.max_surge();
    if (before > 0)
      share = std::llround(static_cast<double>(set.replicas) * static_cast<double>(after) /
                           static_cast<double>(before)) -
              set.replicas;
    else
      share = 0;
  }
  std::int64_t left = change - given;
  return change > 0 ? std::min(share, left) : std::max(share, left);
}

RolloutSet* only_active_or_latest(Rollout& rollout) {
  RolloutSet* active = nullptr;
  for (RolloutSet* set : rollout.all()) {
    if (set->replicas == 0) continue;
    if (active) return nullptr;
    active = set;
  }
  if (active) return active;
  if (rollout.current) return &*rollout.current;
  return rollout.old.empty() ? nullptr : &rollout.old.back();
}

}  // namespace

std::int64_t RolloutSet::revision() const {
  return annotated_number(object->metadata, "deployment.kubernetes.io/revision", 0);
}

bool Rollout::rolling() const {
  return json::string_at(deployment.spec, {"strategy", "type"}) != "Recreate";
}

std::int64_t Rollout::max_surge() const {
  return rolling() ? rolling_number(*this, "maxSurge", true) : 0;
}

std::int64_t Rollout::max_unavailable() const {
  if (!rolling() || wanted() == 0) return 0;
  std::int64_t number = rolling_number(*this, "maxUnavailable", false);
  // Rounding down to nothing on both sides would never move.
  if (number == 0 && max_surge() == 0) number = 1;
  return std::min(number, wanted());
}

std::vector<RolloutSet*> Rollout::all() {
  std::vector<RolloutSet*> sets;
  for (RolloutSet& one : old) sets.push_back(&one);
  if (current) sets.push_back(&*current);
  return sets;
}

std::int64_t Rollout::total() const {
  std::int64_t sum = current ? current->replicas : 0;
  for (const RolloutSet& one : old) sum += one.replicas;
  return sum;
}

Rollout rollout_of(const AnyObject& deployment, const std::vector<AnyRef>& sets) {
  Rollout rollout{deployment, {}, std::nullopt};
  for (const AnyRef& set : sets) rollout.old.push_back({set, replicas_of(*set)});
  std::sort(rollout.old.begin(), rollout.old.end(), by_age);
  auto found = std::find_if(rollout.old.begin(), rollout.old.end(), [&](const RolloutSet& one) {
    return same_template(*one.object, deployment);
  });
  if (found == rollout.old.end()) return rollout;
  rollout.current = *found;
  rollout.old.erase(found);
  return rollout;
}

std::int64_t current_set_size(const Rollout& rollout, std::int64_t present) {
  if (!rollout.rolling()) return rollout.wanted();
  std::int64_t limit = rollout.wanted() + rollout.max_surge();
  if (rollout.total() >= limit) return present;
  return present + std::min(limit - rollout.total(), rollout.wanted() - present);
}

bool grow_current(Rollout& rollout) {
  RolloutSet& set = *rollout.current;
  std::int64_t size =
      set.replicas > rollout.wanted() ? rollout.wanted() : current_set_size(rollout, set.replicas);
  bool changes = size != set.replicas;
  set.replicas = size;
  return changes;
}

bool shrink_old(Rollout& rollout) {
  std::int64_t old_count = rollout.total() - rollout.current->replicas;
  if (old_count == 0) return false;
  std::int64_t least = rollout.wanted() - rollout.max_unavailable();
  std::int64_t not_up = rollout.current->replicas - rollout.current->available();
  std::int64_t most = rollout.total() - least - not_up;
  if (most <= 0) return false;
  bool changes = false;
  // Pods that do not work go first, whatever the order of the sets.
  std::int64_t cleaned = 0, available = rollout.current->available();
  for (RolloutSet& set : rollout.old) {
    available += set.available();
    std::int64_t broken = std::min(most - cleaned, set.replicas - set.available());
    if (broken <= 0) continue;
    set.replicas -= broken;
    cleaned += broken;
    changes = true;
  }
  std::int64_t spare = available - least;
  for (RolloutSet& set : rollout.old) {
    if (spare <= 0) break;
    std::int64_t fewer = std::min(set.replicas, spare);
    if (fewer == 0) continue;
    set.replicas -= fewer;
    spare -= fewer;
    changes = true;
  }
  return changes;
}

void scale_in_proportion(Rollout& rollout) {
  if (RolloutSet* only = only_active_or_latest(rollout)) {
    only->replicas = rollout.wanted();
    return;
  }
  bool saturated =
      rollout.current && rollout.current->replicas == rollout.wanted() &&
      annotated_number(rollout.current->object->metadata,
                       "deployment.kubernetes.io/desired-replicas", -1) == rollout.wanted() &&
      rollout.current->available() == rollout.wanted();
  if (saturated) {
    for (RolloutSet& set : rollout.old) set.replicas = 0;
    return;
  }
  if (!rollout.rolling()) return;
  std::int64_t allowed = rollout.wanted() > 0 ? rollout.wanted() + rollout.max_surge() : 0;
  std::int64_t change = allowed - rollout.total();
  std::vector<RolloutSet*> active;
  for (RolloutSet* set : rollout.all())
    if (set->replicas > 0) active.push_back(set);
  std::sort(active.begin(), active.end(), [&](const RolloutSet* a, const RolloutSet* b) {
    if (a->replicas != b->replicas) return a->replicas > b->replicas;
    return change > 0 ? by_age(*b, *a) : by_age(*a, *b);
  });
  std::int64_t given = 0;
  std::vector<std::int64_t> sizes;
  for (RolloutSet* set : active) {
    std::int64_t share = share_of(rollout, *set, change, given);
    sizes.push_back(set->replicas + share);
    given += share;
  }
  if (!sizes.empty()) sizes.front() = std::max<std::int64_t>(0, sizes.front() + change - given);
  for (std::size_t i = 0; i < active.size(); ++i) active[i]->replicas = sizes[i];
}

}  // namespace hekla::controllers
