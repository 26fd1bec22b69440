// The kinds of jobs that commands follow to their end: what people call them, how their status
// tells where they stand, which pods are theirs, and how they are told to stop.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/api_session.h"
#include "model/meta.h"

namespace hekla::cli {

// Where a job stands.
struct JobState {
  std::string word;             // Running, Completed, Succeeded, ...; empty: nobody has said yet
  bool ended = false;           // it does nothing more by itself
  bool succeeded = false;       // it has ended well
  std::string reason, message;  // of the last change, where the kind tells them
  std::string since;            // RFC 3339; empty: not told
};

struct JobKind {
  const kube::Resource* resource;
  std::string_view title;  // in messages: "job", "tfjob"
  // Of the pods that other objects make for it: the label that bears the job's name.
  std::string_view pod_label;
  JobState (*state)(const json::Value& status);
  // The merge patch that stops it for good, with its pods; null: by a command on Volcano's bus.
  const char* stop;
};

std::span<const JobKind> job_kinds();
const JobKind* job_kind(const kube::Resource& resource);   // null: no job
const JobKind* job_kind(const json::Value& object);        // by its apiVersion's group and its kind
const JobKind* job_kind_of_title(std::string_view title);  // by what people call it

JobState state_of(const JobKind& kind, const json::Value& object);

// A job and no other of its name.
struct JobRef {
  const JobKind* kind;
  kube::Key key;
  std::string uid;
  int replicas = 0;  // pods that it wants at a time; 0: its kind does not tell
};
JobRef job_ref(const JobKind& kind, const json::Value& object);

// The first job of that name, whatever its kind.
Result<std::optional<JobRef>> find_job(ApiSession& session, const std::string& ns,
                                       const std::string& name);

std::string title_of(const JobRef& job);  // "tfjob mnist"

// Whether the job, or something it has made, made this pod.
bool is_pod_of(const JobRef& job, const model::ObjectMeta& pod);

// Ends the job's pods and keeps it from making others.
Result<void> stop_job(ApiSession& session, const JobRef& job);
// "job j goes on; hekla logs -f ... follows it, ... ends it": to whoever stops following.
std::string how_to_go_on(const JobRef& job);

}  // namespace hekla::cli
