#include "json/codec.h"
#include "scheduler/explain/explain.h"

namespace hekla::scheduler {

namespace {

template <class T>
Result<void> add_decoded(const json::Value& object, std::vector<T>& to) {
  to.push_back(TRY(json::decode<T>(object)));
  return {};
}

bool has_other_jobs(std::string_view api_version) {
  return api_version.starts_with("kubeflow.org/") ||
         api_version.starts_with("trainer.kubeflow.org/") ||
         api_version.starts_with("jobset.x-k8s.io/");
}

}  // namespace

Result<void> World::add(const json::Value& object) {
  std::string_view kind = json::string_at(object, {"kind"});
  std::string_view version = json::string_at(object, {"apiVersion"});
  if (kind == "Node") return add_decoded(object, nodes);
  if (kind == "Pod") return add_decoded(object, pods);
  if (kind == "PodGroup") return add_decoded(object, groups);
  if (kind == "Queue") return add_decoded(object, queues);
  if (kind == "PriorityClass") return add_decoded(object, priority_classes);
  if (kind == "Job" && version.starts_with("batch.volcano.sh/")) return add_decoded(object, jobs);
  if (has_other_jobs(version)) return add_decoded(object, other_jobs);
  if (kind == "ResourceQuota") quotas.push_back(object);
  if (std::optional<CompanionKind> companion = companion_kind(kind))
    companions.emplace_back(*companion, TRY(json::decode<Companion>(object)));
  if (kind == "Event") events.push_back(object);
  return {};
}

const Finding* Explanation::find(std::string_view code) const {
  for (const Finding& finding : findings)
    if (finding.code == code) return &finding;
  return nullptr;
}

json::Value Explanation::to_json() const {
  json::Array list;
  for (const Finding& finding : findings) {
    json::Object one{{"code", finding.code}, {"text", finding.text}};
    if (!finding.advice.empty()) one["advice"] = finding.advice;
    if (!finding.facts.empty()) one["facts"] = finding.facts;
    list.push_back(std::move(one));
  }
  json::Object out{{"kind", kind}, {"name", name}, {"state", state}, {"summary", summary}};
  if (!ns.empty()) out["namespace"] = ns;
  out["findings"] = std::move(list);
  return out;
}

std::string Explanation::to_text() const {
  // The summary ends with the first finding; here that follows anyway.
  std::string_view brief = summary;
  if (!findings.empty() && brief.ends_with(findings.front().text)) {
    brief.remove_suffix(findings.front().text.size());
    while (brief.ends_with(' ') || brief.ends_with(';') || brief.ends_with(':'))
      brief.remove_suffix(1);
  }
  std::string out = kind + " " + (ns.empty() ? "" : ns + "/") + name + ": " + state + "\n";
  if (!brief.empty()) out.append(brief).append("\n");
  for (const Finding& finding : findings) {
    out += "\n- " + finding.text + "\n";
    if (!finding.advice.empty()) out += "  What helps: " + finding.advice + "\n";
  }
  return out;
}

}  // namespace hekla::scheduler
