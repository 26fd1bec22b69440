// hekla job, queue, pod, jobflow, jobtemplate: vcctl's commands with its flags; and, by the
// program's own name, vsub, vjobs, vqueues, vcancel, vsuspend, vresume.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/cluster.h"
#include "cli/verb.h"
#include "cli/volcano.h"

namespace hekla::cli {
namespace {

struct Options {
  ClusterFlags cluster;
  JobRun run;
  ListFilter list;
  QueueOptions queue;
  FlowOptions flow;
};
using Shared = std::shared_ptr<Options>;
using Work = std::function<Result<void>(ApiSession&, Options&)>;

CLI::App* add_command(CLI::App& group, Context& context, const char* name, const char* summary,
                      const Shared& options, Work work) {
  CLI::App* command = group.add_subcommand(name, summary);
  add_cluster_flags(*command, options->cluster);
  run_on_cluster(
      *command, context, options->cluster,
      [options, work = std::move(work)](ApiSession& session) { return work(session, *options); });
  return command;
}

// vcctl calls the namespace -n and the name -N; the v* commands have it the other way round.
void add_run_flags(CLI::App& command, JobRun& run, bool lsf) {
  command.add_option("-i,--image", run.image, "the image")
      ->capture_default_str()
      ->envname(lsf ? "VOLCANO_DEFAULT_IMAGE" : "");
  command.add_option(lsf ? "-N,--namespace" : "-n,--namespace", run.ns, "the namespace")
      ->capture_default_str()
      ->envname(lsf ? "VOLCANO_DEFAULT_JOB_NAMESPACE" : "");
  command.add_option(lsf ? "-n,--name" : "-N,--name", run.name, "the job's name");
  command.add_option("-m,--min", run.minimum, "the least number of pods")->capture_default_str();
  command.add_option("-r,--replicas", run.replicas, "the number of pods")->capture_default_str();
  command.add_option("-R,--requests", run.requests, "what a pod asks for")->capture_default_str();
  command.add_option("-L,--limits", run.limits, "what a pod may use")->capture_default_str();
  command.add_option("-S,--scheduler", run.scheduler, "the scheduler")
      ->capture_default_str()
      ->envname(lsf ? "VOLCANO_SCHEDULER_NAME" : "");
  if (lsf)
    command.add_option("-c,--command", run.command, "what the pods run");
  else
    command.add_option("-f,--filename", run.file, "a file with the job");
}

void add_job_key(CLI::App& command, JobRun& run, bool lsf) {
  command.add_option(lsf ? "-N,--namespace" : "-n,--namespace", run.ns, "the namespace")
      ->capture_default_str();
  command.add_option(lsf ? "-n,--name" : "-N,--name", run.name, "the job's name");
}

Work on_job(Result<void> (*act)(ApiSession&, const std::string&, const std::string&)) {
  return [act](ApiSession& session, Options& o) { return act(session, o.run.ns, o.run.name); };
}

Work issue(const char* action) {
  return [action](ApiSession& session, Options& o) {
    return command_job(session, o.run.ns, o.run.name, action);
  };
}

void declare_jobs(CLI::App& app, Context& context) {
  CLI::App* group = app.add_subcommand("job", "vcctl's job commands");
  group->require_subcommand(1);
  auto run = std::make_shared<Options>();
  add_run_flags(*add_command(*group, context, "run", "run a job by parameters or from a file", run,
                             [](ApiSession& s, Options& o) { return run_job(s, o.run); }),
                run->run, false);
  auto list = std::make_shared<Options>();
  CLI::App* command = add_command(*group, context, "list", "list jobs", list,
                                  [](ApiSession& s, Options& o) { return list_jobs(s, o.list); });
  command->add_option("-q,--queue", list->list.queue, "only of this queue");
  command->add_option("-n,--namespace", list->list.ns, "the namespace")->capture_default_str();
  command->add_option("-S,--scheduler", list->list.scheduler, "only for this scheduler");
  command->add_flag("--all-namespaces", list->list.all_namespaces, "in every namespace");
  command->add_option("--selector", list->list.selector, "only names that contain this");
  struct Named {
    const char *name, *summary;
    Work work;
  };
  for (Named& one : std::vector<Named>{{"view", "show one job", on_job(view_job)},
                                       {"suspend", "abort a job", issue("AbortJob")},
                                       {"resume", "resume a job", issue("ResumeJob")},
                                       {"delete", "delete a job", on_job(delete_job)}}) {
    auto options = std::make_shared<Options>();
    add_job_key(*add_command(*group, context, one.name, one.summary, options, std::move(one.work)),
                options->run, false);
  }
}

void declare_queues(CLI::App& app, Context& context) {
  CLI::App* group = app.add_subcommand("queue", "vcctl's queue commands");
  group->require_subcommand(1);
  auto create = std::make_shared<Options>();
  create->queue = {"test", "", "Open", 1};
  CLI::App* command =
      add_command(*group, context, "create", "create a queue", create,
                  [](ApiSession& s, Options& o) { return create_queue(s, o.queue); });
  command->add_option("-n,--name", create->queue.name, "its name")->capture_default_str();
  command->add_option("-w,--weight", create->queue.weight, "its weight")->capture_default_str();
  command->add_option("-S,--state", create->queue.state, "its state")->capture_default_str();
  auto remove = std::make_shared<Options>();
  add_command(*group, context, "delete", "delete a queue", remove, [](ApiSession& s, Options& o) {
    return delete_queue(s, o.queue);
  })->add_option("-n,--name", remove->queue.name, "its name");
  auto operate = std::make_shared<Options>();
  command = add_command(*group, context, "operate", "open, close or update a queue", operate,
                        [](ApiSession& s, Options& o) { return operate_queue(s, o.queue); });
  command->add_option("-n,--name", operate->queue.name, "its name");
  command->add_option("-a,--action", operate->queue.action, "open, close or update");
  command->add_option("-w,--weight", operate->queue.weight, "the new weight");
  auto list = std::make_shared<Options>();
  add_command(*group, context, "list", "list queues", list,
              [](ApiSession& s, Options&) { return list_queues(s, "", false); });
  auto get = std::make_shared<Options>();
  add_command(*group, context, "get", "show a queue", get,
              [](ApiSession& s, Options& o) -> Result<void> {
                if (o.queue.name.empty())
                  return fail(Code::bad_request,
                              "name is mandatory to get the particular queue details");
                return list_queues(s, o.queue.name, false);
              })
      ->add_option("-n,--name", get->queue.name, "its name");
}

void declare_pods(CLI::App& app, Context& context) {
  CLI::App* group = app.add_subcommand("pod", "vcctl's pod commands");
  group->require_subcommand(1);
  auto list = std::make_shared<Options>();
  CLI::App* command = add_command(*group, context, "list", "list the pods of jobs", list,
                                  [](ApiSession& s, Options& o) { return list_pods(s, o.list); });
  command->add_option("-q,--queue", list->list.queue, "only of this queue");
  command->add_option("-j,--job", list->list.job, "only of this job");
  command->add_option("-n,--namespace", list->list.ns, "the namespace")->capture_default_str();
  command->add_flag("--all-namespaces", list->list.all_namespaces, "in every namespace");
}

void declare_flows(CLI::App& app, Context& context, bool is_template) {
  CLI::App* group = is_template ? app.add_subcommand("jobtemplate", "vcctl's template commands")
                                : app.add_subcommand("jobflow", "vcctl's flow commands");
  group->require_subcommand(1);
  struct Named {
    const char *name, *summary;
    Result<void> (*act)(ApiSession&, const FlowOptions&);
  };
  for (const Named& one :
       {Named{"create", "create what a file says", create_flow},
        Named{"delete", "delete by name or file", delete_flow},
        Named{"list", "list all", list_flows}, Named{"get", "show one", list_flows},
        Named{"describe", "show one in full", describe_flow}}) {
    auto options = std::make_shared<Options>();
    options->flow.is_template = is_template;
    CLI::App* command =
        add_command(*group, context, one.name, one.summary, options,
                    [act = one.act](ApiSession& s, Options& o) { return act(s, o.flow); });
    command->add_option("-n,--namespace", options->flow.ns, "the namespace")->capture_default_str();
    command->add_option("-N,--name", options->flow.name, "the name");
    command->add_option("-f,--file", options->flow.file, "a file");
    command->add_option("-o,--format", options->flow.output, "yaml or json")
        ->check(CLI::IsMember({"yaml", "json"}));
    command->add_flag("--all-namespaces", options->flow.all_namespaces, "in every namespace");
  }
}

void declare_lsf(CLI::App& app, Context& context) {
  auto hidden = [&](const char* name, const Shared& options, Work work) {
    CLI::App* command = add_command(app, context, name, "", options, std::move(work));
    command->group("");
    return command;
  };
  auto run = std::make_shared<Options>();
  add_run_flags(*hidden("vsub", run, [](ApiSession& s, Options& o) { return run_job(s, o.run); }),
                run->run, true);
  auto jobs = std::make_shared<Options>();
  CLI::App* command = hidden("vjobs", jobs, [](ApiSession& s, Options& o) {
    o.list.ns = o.run.ns;
    return o.run.name.empty() ? list_jobs(s, o.list) : view_job(s, o.run.ns, o.run.name);
  });
  add_job_key(*command, jobs->run, true);
  command->add_option("-S,--scheduler", jobs->list.scheduler, "only for this scheduler");
  command->add_flag("--all-namespaces", jobs->list.all_namespaces, "in every namespace");
  command->add_option("--selector", jobs->list.selector, "only names that contain this");
  auto queues = std::make_shared<Options>();
  hidden("vqueues", queues, [](ApiSession& s, Options& o) {
    return list_queues(s, o.queue.name, true);
  })->add_option("-n,--name", queues->queue.name, "only this one");
  struct Named {
    const char* name;
    Work work;
  };
  for (Named& one : std::vector<Named>{{"vcancel", on_job(delete_job)},
                                       {"vsuspend", issue("AbortJob")},
                                       {"vresume", issue("ResumeJob")}}) {
    auto options = std::make_shared<Options>();
    add_job_key(*hidden(one.name, options, std::move(one.work)), options->run, true);
  }
}

void declare(CLI::App& app, Context& context) {
  declare_jobs(app, context);
  declare_queues(app, context);
  declare_pods(app, context);
  declare_flows(app, context, false);
  declare_flows(app, context, true);
  declare_lsf(app, context);
}

}  // namespace

extern const Verb verb_volcano;
const Verb verb_volcano{"volcano", declare};

}  // namespace hekla::cli
