// A JobSet as its controller reads it: the defaults of its webhook filled in, names and labels of
// the Jobs that follow from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/any_object.h"

namespace hekla::controllers::jobset {

namespace keys {
inline const std::string set_name = "jobset.sigs.k8s.io/jobset-name";
inline const std::string job_name = "jobset.sigs.k8s.io/replicatedjob-name";
inline const std::string restart_attempt = "jobset.sigs.k8s.io/restart-attempt";
// Each Job has a domain of this topology for itself.
inline const std::string exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology";
// ... which nodes have been labelled for beforehand.
inline const std::string node_selector = "alpha.jobset.sigs.k8s.io/node-selector";
}  // namespace keys

struct Dependency {
  std::string name;
  bool complete = false;  // else ready
};

struct ReplicatedJob {
  std::string name, group;
  std::int32_t replicas = 1;
  std::int32_t pods = 1;  // of one of its Jobs, at a time
  std::vector<Dependency> depends_on;
  const json::Value* job_template = nullptr;  // {metadata, spec}; borrowed
  const json::Value* pod_template() const;    // null without one
};

// Borrows from the object.
struct JobSet {
  const framework::AnyObject* object;
  std::vector<ReplicatedJob> jobs;
  std::string subdomain;
  bool has_hostnames = true, suspended = false, in_order = false;
  std::int64_t restarts = 0;

  const std::string& name() const { return object->metadata.name; }
  const json::Value& spec() const { return object->spec; }
  std::int64_t replicas() const;
  std::string child_name(const ReplicatedJob& job, std::int32_t index) const;
};

JobSet read_job_set(const framework::AnyObject& object);

// The Job, complete but for its owner. It begins held back when the set is.
json::Value child_job(const JobSet& set, const ReplicatedJob& job, std::int32_t index);

// <claim>-<set>.
std::string claim_name(const JobSet& set, const json::Value& claim_template);

}  // namespace hekla::controllers::jobset
