#include "agent/logs/kept_log_expiry.h"

#include <algorithm>
#include <set>

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kPeriod{30};

}  // namespace

kube::Resource job_resource(const model::OwnerReference& job) {
  kube::Resource resource;
  std::size_t slash = job.apiVersion.find('/');
  if (slash != std::string::npos) resource.group = job.apiVersion.substr(0, slash);
  resource.version = job.apiVersion.substr(slash == std::string::npos ? 0 : slash + 1);
  resource.kind = job.kind;
  resource.plural = job.kind + "s";
  std::ranges::transform(resource.plural, resource.plural.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return resource;
}

void KeptLogExpiry::look() {
  std::set<std::string> asked;
  for (const KeptPod& pod : logs_.list(""))
    if (asked.insert(pod.record.job->uid).second) ask(pod.record.ns, *pod.record.job);
  work_.trim();
  client_.executor().post_after(kPeriod, [self = weak_from_this()] {
    if (auto expiry = self.lock()) expiry->look();
  });
}

void KeptLogExpiry::ask(const std::string& ns, const model::OwnerReference& job) {
  client_.get(job_resource(job), {ns, job.name},
              [self = weak_from_this(), uid = job.uid](const Result<kube::ObjectPtr>& found) {
                auto expiry = self.lock();
                if (!expiry) return;
                // Another job of the same name has logs of its own.
                bool gone = found ? (*found)->uid != uid : found.error().code == Code::not_found;
                if (gone) expiry->work_.remove_job(uid);
              });
}

}  // namespace hekla::agent
