#include "gateway/policies/members.h"

#include <algorithm>

namespace hekla::gateway {

void Members::read(const framework::AnyObject& binding) {
  const std::string& ns = binding.metadata.ns;
  std::vector<std::string> subjects;
  const json::Value* all = json::find(binding.rest, "subjects");
  if (all && all->is_array())
    for (const json::Value& one : all->get_array()) {
      const std::string kind = json::text_at(one, {"kind"}), name = json::text_at(one, {"name"});
      const bool own = (kind == "ServiceAccount" && json::string_at(one, {"namespace"}) == ns) ||
                       (kind == "Group" && name == "system:serviceaccounts:" + ns) ||
                       (kind == "User" && name.starts_with("system:serviceaccount:" + ns + ":"));
      if (!own) subjects.push_back(kind + " " + name);
    }
  std::lock_guard lock(mutex_);
  subjects_[framework::key_of(binding.metadata)] = std::move(subjects);
}

void Members::forget(const kube::Key& binding) {
  std::lock_guard lock(mutex_);
  subjects_.erase(binding);
}

bool Members::is_sole(const std::string& user, const std::string& ns) const {
  const std::string visitor = "User " + user;
  bool found = false;
  std::lock_guard lock(mutex_);
  for (auto at = subjects_.lower_bound({ns, ""}); at != subjects_.end() && at->first.ns == ns; ++at)
    for (const std::string& subject : at->second) {
      if (subject != visitor) return false;
      found = true;
    }
  return found;
}

}  // namespace hekla::gateway
