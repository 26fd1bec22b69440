// Why does it wait? The same scheduler library, run once over the objects of an API (ours or a real
// one), and asked for its reasons with numbers. Pure: objects in, an explanation out.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"
#include "model/volcano.h"
#include "scheduler/cluster/companions.h"

namespace hekla::scheduler {

// A job of another kind than Volcano's: of Kubeflow's, or a JobSet.
struct OtherJob {
  std::string kind;  // "TFJob"
  model::ObjectMeta metadata;
  json::Value spec, status;
};
BOOST_DESCRIBE_STRUCT(OtherJob, (), (kind, metadata, spec, status))

// The objects an explanation looks at, as they were listed.
struct World {
  std::vector<model::Node> nodes;
  std::vector<model::Pod> pods;
  std::vector<model::PodGroup> groups;
  std::vector<model::Queue> queues;
  std::vector<model::PriorityClass> priority_classes;
  std::vector<model::VcJob> jobs;
  std::vector<OtherJob> other_jobs;
  std::vector<json::Value> quotas, events;
  std::vector<std::pair<CompanionKind, Companion>> companions;
  std::string configuration;  // empty: the Helm chart's default
  WallTime now{};

  // Sorts an object into its list by its kind; other kinds are left alone. Fails on one that cannot
  // be read.
  Result<void> add(const json::Value& object);
};

struct Finding {
  std::string code;    // for programs: "gang-too-big"
  std::string text;    // one sentence with numbers
  std::string advice;  // what would help; may be empty
  json::Object facts;
};

struct Explanation {
  std::string kind, ns, name;
  std::string state;    // "Pending", "Running", ...
  std::string summary;  // one line
  std::vector<Finding> findings;

  const Finding* find(std::string_view code) const;
  json::Value to_json() const;
  std::string to_text() const;
};

// `kind` is job, podgroup, pod, queue, or that of another job in small letters: tfjob. not_found
// names what does not exist.
Result<Explanation> explain(const World& world, const std::string& kind, const std::string& ns,
                            const std::string& name);

// Of several pod groups, by namespace and name, in one look.
Result<std::vector<Explanation>> explain_groups(
    const World& world, std::span<const std::pair<std::string, std::string>> groups);

}  // namespace hekla::scheduler
