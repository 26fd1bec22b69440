#include "controllers/workbench/culling.h"

#include "model/time.h"

namespace hekla::controllers::workbench {
namespace {

const std::string kStopped = "kubeflow-resource-stopped";
const std::string kLastActivity = "notebooks.kubeflow.org/last-activity";
const std::string kLastCheck = "notebooks.kubeflow.org/last_activity_check_timestamp";

void annotate(framework::Outcome& outcome, const std::string& name, json::Value value) {
  if (!outcome.patch.is_object()) outcome.patch = json::Object();
  json::at_path(outcome.patch, {"metadata", "annotations", name}) = std::move(value);
}

}  // namespace

bool is_stopped(const framework::AnyObject& notebook) {
  return notebook.metadata.annotations.contains(kStopped);
}

void cull(const framework::AnyObject& notebook, bool has_pod, Nanos idle, WallTime now,
          framework::Outcome& outcome) {
  const std::string text = model::format_rfc3339(now);
  if (is_stopped(notebook) || !has_pod) {
    for (const std::string& name : {kLastActivity, kLastCheck})
      if (notebook.metadata.annotations.contains(name)) annotate(outcome, name, nullptr);
    return;
  }
  Result<WallTime> used = model::parse_rfc3339(notebook.metadata.annotation(kLastActivity));
  if (!used) {
    annotate(outcome, kLastActivity, json::Value(text));
    annotate(outcome, kLastCheck, json::Value(text));
    return outcome.again_in(idle);
  }
  const Nanos unused = now - *used;
  if (unused < idle) return outcome.again_in(idle - unused);
  annotate(outcome, kStopped, json::Value(text));
  annotate(outcome, kLastCheck, json::Value(text));
  outcome.tell(
      "Normal", "Culled",
      "The notebook has not been used since " + model::format_rfc3339(*used) + " and is stopped");
}

}  // namespace hekla::controllers::workbench
