// kubectl's work on objects, for a machine that has none: get, apply, delete, describe, wait, logs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/cluster.h"

namespace hekla::cli {

struct GetOptions {
  std::vector<std::string> what;  // TYPE [NAME...] or TYPE/NAME...
  std::string ns, selector, output;
  bool all_namespaces = false, watch = false, quiet = false;
  bool all = false;  // of the type, where names are asked for
};
// "vcjob/j pod/p" and "vcjob j k" both become types with names.
struct Wanted {
  std::string type;
  std::vector<std::string> names;
};
std::vector<Wanted> wanted_of(const std::vector<std::string>& what);

Result<void> get_objects(ApiSession& session, const GetOptions& options);

// The files named, and those with YAML or JSON of the directories named, in the order of their
// names.
Result<std::vector<std::string>> expand_files(const std::vector<std::string>& files);

// "job.batch.volcano.sh": how kubectl names a resource before the object's name.
std::string qualified(const kube::Resource& resource);

struct ApplyOptions {
  std::vector<std::string> files;
  std::string ns;
  bool server_side = false;
};
Result<void> apply_files(ApiSession& session, const ApplyOptions& options);
// One object: created, or three ways with what was applied last and what is there; without a name
// it is always a new one. The outcome is "created", "configured" or "unchanged".
struct Applied {
  kube::Resource resource;
  json::Value object;
  std::string outcome;
};
Result<Applied> apply_object(ApiSession& session, const json::Value& object,
                             const std::string& ns = {});
Result<void> delete_files(ApiSession& session, const ApplyOptions& options);
Result<void> delete_objects(ApiSession& session, const GetOptions& options);
Result<void> describe_objects(ApiSession& session, const GetOptions& options);

// `condition` is kubectl's --for: delete, condition=NAME[=VALUE], jsonpath={.a.b}=VALUE.
Result<void> wait_for(ApiSession& session, const GetOptions& options, const std::string& condition,
                      std::chrono::seconds timeout);
// Until jobs, by NAME or TYPE/NAME, have ended; one that has not ended well is an error (logs.cpp).
Result<void> wait_for_jobs(ApiSession& session, const GetOptions& options,
                           std::chrono::seconds timeout);

struct LogOptions {
  std::string what;  // NAME or TYPE/NAME of a pod or a job
  std::string ns, container;
  bool follow = false, previous = false, timestamps = false;
  int tail = -1;
  std::int64_t since_seconds = 0;
};
// Prints the log of a pod, or those of all pods of a job, also of pods that are gone (logs.cpp).
Result<void> print_logs(ApiSession& session, const LogOptions& options);

// The patch that turns what `last` had made into what `next` says: next itself, and null for every
// member that only last has.
json::Value apply_patch_of(const json::Value& last, const json::Value& next);

// kubectl's generic description: members as titles, one level of indent each.
std::string described(const json::Value& object);

}  // namespace hekla::cli
