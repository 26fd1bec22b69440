// hekla job, queue, pod, jobflow, jobtemplate: vcctl's commands with its flags; and, by the
// program's own name, vsub, vjobs, vqueues, vcancel, vsuspend, vresume.
#include <memory>

#include "cli/cluster.h"
#include "cli/verb.h"
#include "cli/volcano.h"

namespace hekla::cli {
namespace {

struct VolcanoOptions {
  ClusterFlags cluster;
  JobRun run;
  ListFilter list;
  QueueOptions queue;
  FlowOptions flow;
};
using Shared = std::shared_ptr<VolcanoOptions>;
using VolcanoWork = std::function<Result<void>(ApiSession&, VolcanoOptions&)>;

Command cluster_command(const char* name, const char* summary, const Shared& options,
                        std::vector<Flag> flags, VolcanoWork work) {
  Command command{.name = name, .summary = summary, .flags = cluster_flags(options->cluster)};
  append(command.flags, std::move(flags));
  command.run = on_cluster(
      options->cluster,
      [options, work = std::move(work)](ApiSession& session) { return work(session, *options); });
  return command;
}

// vcctl calls the namespace -n and the name -N; the v* commands have it the other way round.
enum class Letters { vcctl, lsf };

Flag namespace_flag(std::string& ns, Letters letters = Letters::vcctl) {
  return Flag(letters == Letters::lsf ? "-N,--namespace" : "-n,--namespace", ns, "the namespace");
}

Flag name_flag(std::string& name, Letters letters) {
  return Flag(letters == Letters::lsf ? "-n,--name" : "-N,--name", name, "the job's name");
}

std::vector<Flag> job_key_flags(JobRun& run, Letters letters) {
  return {namespace_flag(run.ns, letters), name_flag(run.name, letters)};
}

std::vector<Flag> run_flags(JobRun& run, Letters letters) {
  const bool lsf = letters == Letters::lsf;
  return {
      Flag("-i,--image", run.image, "the image")
          .from_environment(lsf ? "VOLCANO_DEFAULT_IMAGE" : ""),
      namespace_flag(run.ns, letters).from_environment(lsf ? "VOLCANO_DEFAULT_JOB_NAMESPACE" : ""),
      name_flag(run.name, letters),
      Flag("-m,--min", run.minimum, "the least number of pods"),
      Flag("-r,--replicas", run.replicas, "the number of pods"),
      Flag("-R,--requests", run.requests, "what a pod asks for"),
      Flag("-L,--limits", run.limits, "what a pod may use"),
      Flag("-S,--scheduler", run.scheduler, "the scheduler")
          .from_environment(lsf ? "VOLCANO_SCHEDULER_NAME" : ""),
      lsf ? Flag("-c,--command", run.command, "what the pods run")
          : Flag("-f,--filename", run.file, "a file with the job"),
  };
}

Flag all_namespaces_flag(bool& all) { return Flag("--all-namespaces", all, "in every namespace"); }

VolcanoWork on_job(Result<void> (*act)(ApiSession&, const std::string&, const std::string&)) {
  return
      [act](ApiSession& session, VolcanoOptions& o) { return act(session, o.run.ns, o.run.name); };
}

VolcanoWork issue(const char* action) {
  return [action](ApiSession& session, VolcanoOptions& o) {
    return command_job(session, o.run.ns, o.run.name, action);
  };
}

Command job_list() {
  auto options = std::make_shared<VolcanoOptions>();
  ListFilter& list = options->list;
  return cluster_command("list", "list jobs", options,
                         {
                             Flag("-q,--queue", list.queue, "only of this queue"),
                             namespace_flag(list.ns),
                             Flag("-S,--scheduler", list.scheduler, "only for this scheduler"),
                             all_namespaces_flag(list.all_namespaces),
                             Flag("--selector", list.selector, "only names that contain this"),
                         },
                         [](ApiSession& s, VolcanoOptions& o) { return list_jobs(s, o.list); });
}

Command job_commands() {
  auto run = std::make_shared<VolcanoOptions>();
  Command group{
      .name = "job",
      .summary = "vcctl's job commands",
      .commands = {cluster_command(
                       "run", "run a job by parameters or from a file", run,
                       run_flags(run->run, Letters::vcctl),
                       [](ApiSession& s, VolcanoOptions& o) { return run_job(s, o.run); }),
                   job_list()},
  };
  struct Named {
    const char *name, *summary;
    VolcanoWork work;
  };
  for (const Named& one : {Named{"view", "show one job", on_job(view_job)},
                           Named{"suspend", "abort a job", issue("AbortJob")},
                           Named{"resume", "resume a job", issue("ResumeJob")},
                           Named{"delete", "delete a job", on_job(delete_job)}}) {
    auto options = std::make_shared<VolcanoOptions>();
    group.commands.push_back(cluster_command(
        one.name, one.summary, options, job_key_flags(options->run, Letters::vcctl), one.work));
  }
  return group;
}

Result<void> get_queue(ApiSession& session, const QueueOptions& queue) {
  if (queue.name.empty())
    return fail(Code::bad_request, "name is mandatory to get the particular queue details");
  return list_queues(session, queue.name, false);
}

Command queue_commands() {
  auto create = std::make_shared<VolcanoOptions>(), remove = std::make_shared<VolcanoOptions>(),
       operate = std::make_shared<VolcanoOptions>(), get = std::make_shared<VolcanoOptions>();
  create->queue = {"test", "", "Open", 1};
  auto name = [](QueueOptions& queue) { return Flag("-n,--name", queue.name, "its name"); };
  return {
      .name = "queue",
      .summary = "vcctl's queue commands",
      .commands =
          {
              cluster_command(
                  "create", "create a queue", create,
                  {name(create->queue), Flag("-w,--weight", create->queue.weight, "its weight"),
                   Flag("-S,--state", create->queue.state, "its state")},
                  [](ApiSession& s, VolcanoOptions& o) { return create_queue(s, o.queue); }),
              cluster_command(
                  "delete", "delete a queue", remove, {name(remove->queue)},
                  [](ApiSession& s, VolcanoOptions& o) { return delete_queue(s, o.queue); }),
              cluster_command(
                  "operate", "open, close or update a queue", operate,
                  {name(operate->queue),
                   Flag("-a,--action", operate->queue.action, "open, close or update"),
                   Flag("-w,--weight", operate->queue.weight, "the new weight")},
                  [](ApiSession& s, VolcanoOptions& o) { return operate_queue(s, o.queue); }),
              cluster_command(
                  "list", "list queues", std::make_shared<VolcanoOptions>(), {},
                  [](ApiSession& s, VolcanoOptions&) { return list_queues(s, "", false); }),
              cluster_command(
                  "get", "show a queue", get, {name(get->queue)},
                  [](ApiSession& s, VolcanoOptions& o) { return get_queue(s, o.queue); }),
          },
  };
}

Command pod_commands() {
  auto options = std::make_shared<VolcanoOptions>();
  ListFilter& list = options->list;
  return {
      .name = "pod",
      .summary = "vcctl's pod commands",
      .commands = {cluster_command(
          "list", "list the pods of jobs", options,
          {Flag("-q,--queue", list.queue, "only of this queue"),
           Flag("-j,--job", list.job, "only of this job"), namespace_flag(list.ns),
           all_namespaces_flag(list.all_namespaces)},
          [](ApiSession& s, VolcanoOptions& o) { return list_pods(s, o.list); })},
  };
}

Command flow_commands(bool is_template) {
  Command group{
      .name = is_template ? "jobtemplate" : "jobflow",
      .summary = is_template ? "vcctl's template commands" : "vcctl's flow commands",
  };
  struct Named {
    const char *name, *summary;
    Result<void> (*act)(ApiSession&, const FlowOptions&);
  };
  for (const Named& one :
       {Named{"create", "create what a file says", create_flow},
        Named{"delete", "delete by name or file", delete_flow},
        Named{"list", "list all", list_flows}, Named{"get", "show one", list_flows},
        Named{"describe", "show one in full", describe_flow}}) {
    auto options = std::make_shared<VolcanoOptions>();
    FlowOptions& flow = options->flow;
    flow.is_template = is_template;
    group.commands.push_back(cluster_command(
        one.name, one.summary, options,
        {
            namespace_flag(flow.ns),
            Flag("-N,--name", flow.name, "the name"),
            Flag("-f,--file", flow.file, "a file"),
            Flag("-o,--format", flow.output, "how it is shown").with(one_of({"yaml", "json"})),
            all_namespaces_flag(flow.all_namespaces),
        },
        [act = one.act](ApiSession& s, VolcanoOptions& o) { return act(s, o.flow); }));
  }
  return group;
}

std::vector<Command> lsf_commands() {
  auto run = std::make_shared<VolcanoOptions>(), jobs = std::make_shared<VolcanoOptions>(),
       queues = std::make_shared<VolcanoOptions>();
  std::vector<Flag> jobs_flags = job_key_flags(jobs->run, Letters::lsf);
  append(jobs_flags, {Flag("-S,--scheduler", jobs->list.scheduler, "only for this scheduler"),
                      all_namespaces_flag(jobs->list.all_namespaces),
                      Flag("--selector", jobs->list.selector, "only names that contain this")});
  std::vector<Command> commands{
      cluster_command("vsub", "run a job", run, run_flags(run->run, Letters::lsf),
                      [](ApiSession& s, VolcanoOptions& o) { return run_job(s, o.run); }),
      cluster_command("vjobs", "list jobs, or show one", jobs, std::move(jobs_flags),
                      [](ApiSession& s, VolcanoOptions& o) {
                        o.list.ns = o.run.ns;
                        return o.run.name.empty() ? list_jobs(s, o.list)
                                                  : view_job(s, o.run.ns, o.run.name);
                      }),
      cluster_command(
          "vqueues", "list queues", queues,
          {Flag("-n,--name", queues->queue.name, "only this one")},
          [](ApiSession& s, VolcanoOptions& o) { return list_queues(s, o.queue.name, true); }),
  };
  struct Named {
    const char *name, *summary;
    VolcanoWork work;
  };
  for (const Named& one : {Named{"vcancel", "delete a job", on_job(delete_job)},
                           Named{"vsuspend", "abort a job", issue("AbortJob")},
                           Named{"vresume", "resume a job", issue("ResumeJob")}}) {
    auto options = std::make_shared<VolcanoOptions>();
    commands.push_back(cluster_command(one.name, one.summary, options,
                                       job_key_flags(options->run, Letters::lsf), one.work));
  }
  for (Command& command : commands) command.hidden = true;
  return commands;
}

std::vector<Command> volcano_commands(const Context&) {
  std::vector<Command> commands{job_commands(), queue_commands(), pod_commands(),
                                flow_commands(false), flow_commands(true)};
  for (Command& command : lsf_commands()) commands.push_back(std::move(command));
  return commands;
}

}  // namespace

extern const Verb verb_volcano;
const Verb verb_volcano{"volcano", volcano_commands};

}  // namespace hekla::cli
