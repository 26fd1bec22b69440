#include "controllers/workload/revisions.h"

#include <algorithm>

#include "json/go_text.h"

namespace hekla::controllers {
namespace {

// What kubectl rollout undo lays over the set. kubectl tells whether a set is at a revision already
// by the bytes, which it makes from the set: hence the order.
json::Value revision_data(const AnyObject& set) {
  json::Value pod_template = template_of(set);
  json::at_path(pod_template, {"$patch"}) = "replace";
  pod_template = json::sorted(pod_template);
  return json::Object{{"spec", json::Object{{"template", std::move(pod_template)}}}};
}

TemplateRevision template_revision(const ControllerRevision& kept) {
  json::Value pod_template;
  if (const json::Value* found = json::find_path(kept.data, {"spec", "template"})) {
    pod_template = *found;
    if (pod_template.is_object()) pod_template.get_object().erase("$patch");
  }
  return {kept.metadata.name, kept.metadata.label("controller-revision-hash"),
          std::move(pod_template)};
}

json::Value new_revision(const AnyObject& set, const std::string& name, const std::string& hash,
                         json::Value data, std::int64_t number) {
  json::Value labels = json::Object{};
  if (const json::Value* given = json::find_path(template_of(set), {"metadata", "labels"}))
    labels = *given;
  json::at_path(labels, {"controller-revision-hash"}) = hash;
  json::at_path(labels, {"controller.kubernetes.io/hash"}) = hash;
  json::Object annotations;
  for (const char* kept : {"kubernetes.io/change-cause"})
    if (const std::string& value = set.metadata.annotation(kept); !value.empty())
      annotations[kept] = value;
  return json::Object{{"metadata", json::Object{{"name", name},
                                                {"labels", std::move(labels)},
                                                {"annotations", std::move(annotations)}}},
                      {"data", std::move(data)},
                      {"revision", number}};
}

}  // namespace

TemplateRevision current_template_revision(const AnyObject& set,
                                           const std::vector<RevisionRef>& known,
                                           Outcome& outcome) {
  json::Value data = revision_data(set);
  std::int64_t newest = 0;
  RevisionRef same;
  for (const RevisionRef& one : known) {
    newest = std::max(newest, one->revision);
    if (json::equal(one->data, data) && (!same || one->revision > same->revision)) same = one;
  }
  if (same) {
    if (same->revision < newest)
      outcome.edits.push_back({workload_resources::controller_revisions, key_of(same->metadata),
                               json::Object{{"revision", newest + 1}}});
    return template_revision(*same);
  }
  std::string hash = template_hash(data, std::nullopt);
  for (std::int64_t collisions = 0; find_template_revision(known, set.metadata.name + "-" + hash);
       ++collisions)
    hash = template_hash(data, collisions);
  TemplateRevision made{set.metadata.name + "-" + hash, hash, template_of(set)};
  outcome.children.push_back(once(workload_resources::controller_revisions,
                                  new_revision(set, made.name, hash, std::move(data), newest + 1)));
  return made;
}

std::optional<TemplateRevision> find_template_revision(const std::vector<RevisionRef>& known,
                                                       const std::string& name) {
  for (const RevisionRef& one : known)
    if (one->metadata.name == name) return template_revision(*one);
  return std::nullopt;
}

void trim_revisions(const AnyObject& set, const std::vector<RevisionRef>& known,
                    const std::set<std::string>& used, Outcome& outcome) {
  std::vector<RevisionRef> idle;
  for (const RevisionRef& one : known)
    if (!used.contains(one->metadata.name) &&
        !used.contains(one->metadata.label("controller-revision-hash")))
      idle.push_back(one);
  std::sort(idle.begin(), idle.end(),
            [](const RevisionRef& a, const RevisionRef& b) { return a->revision < b->revision; });
  auto limit = static_cast<std::size_t>(
      std::max<std::int64_t>(0, json::int_at(set.spec, {"revisionHistoryLimit"}, 10)));
  for (std::size_t i = 0; i + limit < idle.size(); ++i)
    outcome.removals.push_back(
        removal_of(workload_resources::controller_revisions, idle[i]->metadata));
}

OwnedKind owned_revisions() {
  return {.resource = workload_resources::controller_revisions,
          .wakes = false,
          .hold = held_as<ControllerRevision>};
}

}  // namespace hekla::controllers
