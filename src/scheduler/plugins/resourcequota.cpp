// resourcequota: lets a group in only if its minResources stay within every ResourceQuota of its
// namespace, with what the quota says is used and what other groups were let in for in this
// session. No arguments.
//
// Differs from Volcano: quotas with scopes are left to the API, which knows the pods; a group that
// another plugin turns away is not counted; amounts in the message are written as quantities.
#include <map>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

struct Quota {
  model::ResourceList hard, used;
};

model::ResourceList list_at(const json::Value& body, std::string_view part,
                            std::string_view member) {
  const json::Value* given = json::find_path(body, {part, member});
  if (given == nullptr) return {};
  return json::decode<model::ResourceList>(*given).value_or(model::ResourceList());
}

bool has_scopes(const json::Value& body) {
  const json::Array* scopes = json::array_at(body, {"spec", "scopes"});
  return (scopes != nullptr && !scopes->empty()) ||
         json::find_path(body, {"spec", "scopeSelector"}) != nullptr;
}

std::string text_of(const model::ResourceList& list) {
  std::string out;
  for (const auto& [name, amount] : list)
    out.append(out.empty() ? "" : " ").append(name).append(":").append(amount.text());
  return "map[" + out + "]";
}

class ResourceQuota final : public Plugin {
 public:
  Hooks hooks() const override { return hooks_of({Hook::job_enqueueable, Hook::job_enqueued}); }

  void open(Session& session) override {
    session_ = &session;
    pending_.clear();
    const Companions& companions = session.cluster().companions();
    std::uint64_t version = companions.version(CompanionKind::quota);
    if (version == seen_) return;
    seen_ = version;
    quotas_.clear();
    for (const auto& [key, object] : companions.all(CompanionKind::quota)) {
      if (has_scopes(object->body)) continue;
      Quota quota{list_at(object->body, "status", "hard"), list_at(object->body, "status", "used")};
      if (quota.hard.empty()) quota.hard = list_at(object->body, "spec", "hard");
      quotas_[object->metadata.ns].push_back(std::move(quota));
    }
  }

  Vote job_enqueueable(JobId id) override {
    const Job& job = session_->at(id);
    auto quotas = quotas_.find(job.ns);
    if (!job.has_min_resources || quotas == quotas_.end()) return Vote::permit;
    for (const Quota& quota : quotas->second) {
      model::ResourceList wanted, used, limit;
      for (const auto& [name, amount] : job.min_list) {
        auto hard = quota.hard.find(name);
        if (hard == quota.hard.end()) continue;
        model::Quantity sum = amount;
        sum += amount_of(quota.used, name);
        sum += amount_of(pending_[job.ns], name);
        if (sum <= hard->second) continue;
        wanted[name] = amount;
        used[name] = amount_of(quota.used, name);
        limit[name] = hard->second;
      }
      if (wanted.empty()) continue;
      session_->record_rejection(id, "resource quota insufficient, requested: " + text_of(wanted) +
                                         ", used: " + text_of(used) +
                                         ", limited: " + text_of(limit));
      return Vote::reject;
    }
    return Vote::permit;
  }
  void job_enqueued(JobId id) override {
    const Job& job = session_->at(id);
    if (job.has_min_resources && quotas_.contains(job.ns)) add(pending_[job.ns], job.min_list);
  }

 private:
  static model::Quantity amount_of(const model::ResourceList& list, const std::string& name) {
    auto found = list.find(name);
    return found == list.end() ? model::Quantity() : found->second;
  }

  Session* session_ = nullptr;
  std::uint64_t seen_ = 0;
  std::map<std::string, std::vector<Quota>> quotas_;  // by namespace
  std::map<std::string, model::ResourceList> pending_;
};

}  // namespace

extern const PluginInfo plugin_resourcequota;
const PluginInfo plugin_resourcequota{"resourcequota",
                                      "lets in what the namespace's quotas have room for", "",
                                      [](const PluginOption&) -> std::unique_ptr<Plugin> {
                                        return std::make_unique<ResourceQuota>();
                                      }};

}  // namespace hekla::scheduler
