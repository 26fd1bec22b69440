// The work of vcctl and the v* commands: jobs, queues, pods, flows and templates, with their
// tables.
#pragma once

#include <string>

#include "cli/api_session.h"

namespace hekla::cli {

struct JobRun {
  std::string name, ns = "default", image = "busybox", scheduler = "volcano", file, command;
  std::string requests = "cpu=1000m,memory=100Mi", limits = "cpu=1000m,memory=100Mi";
  int minimum = 1, replicas = 1;
};
Result<void> run_job(ApiSession& session, const JobRun& options);

struct ListFilter {
  std::string ns = "default", queue, scheduler, selector, job;
  bool all_namespaces = false;
};
Result<void> list_jobs(ApiSession& session, const ListFilter& filter);
Result<void> list_pods(ApiSession& session, const ListFilter& filter);
Result<void> view_job(ApiSession& session, const std::string& ns, const std::string& name);
// AbortJob, ResumeJob: a Command on the bus.
Result<void> command_job(ApiSession& session, const std::string& ns, const std::string& name,
                         const std::string& action);
Result<void> delete_job(ApiSession& session, const std::string& ns, const std::string& name);

struct QueueOptions {
  std::string name, action, state = "Open";
  int weight = 0;
};
Result<void> create_queue(ApiSession& session, const QueueOptions& options);
Result<void> operate_queue(ApiSession& session, const QueueOptions& options);
Result<void> delete_queue(ApiSession& session, const QueueOptions& options);
// Lists all queues, or the one named. `short_form` is vqueues' table.
Result<void> list_queues(ApiSession& session, const std::string& name, bool short_form);

struct FlowOptions {
  bool is_template = false;  // JobTemplate instead of JobFlow
  std::string name, ns = "default", file, output = "yaml";
  bool all_namespaces = false;
};
Result<void> create_flow(ApiSession& session, const FlowOptions& options);
Result<void> delete_flow(ApiSession& session, const FlowOptions& options);
Result<void> list_flows(ApiSession& session, const FlowOptions& options);
Result<void> describe_flow(ApiSession& session, const FlowOptions& options);

// A command line as the words a shell would pass on; nothing is expanded.
Result<json::Array> split_words(std::string_view text);
// cpu=1,memory=2Gi as a resource list.
Result<json::Object> parse_resources(const std::string& text);

}  // namespace hekla::cli
