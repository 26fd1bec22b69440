// A cluster's contents, and what of them is in use: nodes, queues, jobs and pods, read once, and
// told in lines, as bars or as JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/api_session.h"
#include "cli/jobs/job_kinds.h"
#include "cli/live/terminal.h"
#include "model/core.h"

namespace hekla::cli {

struct NodeRow {
  std::string name;
  bool ready = false, cordoned = false;
  model::ResourceList allocatable, requested;
  int pods = 0;  // that hold something of it
};

struct QueueRow {
  std::string name, parent, state;
  int weight = 0, running = 0, waiting = 0;  // pod groups
  model::ResourceList allocated, capability, deserved;
};

struct JobRow {
  std::string kind, ns, name, queue, state, created;
  bool ended = false, succeeded = false;
  int replicas = 0;  // that it wants; 0: not told
  int running = 0, pending = 0;
  model::ResourceList requested;  // by its pods that run or wait
};

struct Overview {
  std::vector<NodeRow> nodes;
  std::vector<QueueRow> queues;
  std::vector<JobRow> jobs;         // youngest first
  std::map<std::string, int> pods;  // by phase

  model::ResourceList allocatable() const;  // of all nodes
  model::ResourceList requested() const;
};

// Kinds that may not be read, or are not served, count as empty.
Result<Overview> read_overview(ApiSession& session);

// Two to four lines: "nodes   1 ready", ...
std::vector<std::pair<std::string, std::string>> overview_lines(const Overview& overview);

struct TopChoice {
  bool queues = true, jobs = true, nodes = true;
  bool ended = false;  // jobs that have ended, too
  std::string ns;      // of jobs; empty: all
};
std::string top_text(const Overview& overview, const TopChoice& choice, std::size_t columns,
                     const Paint& paint);

json::Value to_json(const Overview& overview, const TopChoice& choice = {.ended = true});

// "1.5", "250m" of cpu, "3.2Gi" of memory: as people say it.
std::string short_amount(const std::string& resource, const model::Quantity& amount);

}  // namespace hekla::cli
