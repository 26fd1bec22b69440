// hekla get, apply, delete, describe, wait, logs: what kubectl does, where there is no kubectl.
#include <memory>

#include "cli/live/progress.h"
#include "cli/objects.h"
#include "cli/verb.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

struct ObjectOptions {
  ClusterFlags cluster;
  GetOptions get;
  ApplyOptions apply;
  LogOptions logs;
  std::string condition, timeout;
};
using ObjectWork = std::function<Result<void>(ApiSession&, ObjectOptions&)>;

Command object_command(const char* name, const char* summary,
                       const std::shared_ptr<ObjectOptions>& options, std::vector<Flag> flags,
                       ObjectWork work) {
  Command command{.name = name, .summary = summary, .flags = cluster_flags(options->cluster)};
  command.flags.emplace_back("-n,--namespace", options->get.ns, "the namespace");
  append(command.flags, std::move(flags));
  command.run =
      on_cluster(options->cluster, [options, work = std::move(work)](ApiSession& session) {
        options->apply.ns = options->logs.ns = options->get.ns;
        return work(session, *options);
      });
  return command;
}

std::string check_output(std::string& given) {
  for (const char* one : {"yaml", "json", "name", "wide"})
    if (given == one) return {};
  if (given.starts_with("jsonpath=")) return {};
  return "there is yaml, json, name, wide and jsonpath={.path}, no \"" + given + "\"";
}

Command get_command() {
  auto options = std::make_shared<ObjectOptions>();
  GetOptions& get = options->get;
  return object_command(
      "get", "show objects: TYPE [NAME...], TYPE/NAME, TYPE,TYPE", options,
      {
          Flag("what", get.what, "TYPE and names").completed_with(Names::objects).must_be_given(),
          Flag("-A,--all-namespaces", get.all_namespaces, "in every namespace"),
          Flag("-l,--selector", get.selector, "only these labels"),
          Flag("-o,--output", get.output, "yaml, json, name, wide or jsonpath={.path}")
              .with({"", check_output}),
          Flag("-w,--watch", get.watch, "go on showing what changes"),
      },
      [](ApiSession& session, ObjectOptions& o) { return get_objects(session, o.get); });
}

Command describe_command() {
  auto options = std::make_shared<ObjectOptions>();
  return object_command(
      "describe", "show objects in full, with their events", options,
      {Flag("what", options->get.what, "TYPE [NAME...], TYPE/NAME")
           .completed_with(Names::objects)
           .must_be_given()},
      [](ApiSession& session, ObjectOptions& o) { return describe_objects(session, o.get); });
}

Result<void> do_wait(ApiSession& session, ObjectOptions& o) {
  const bool jobs = o.condition.empty();
  const Nanos timeout =
      TRY(model::parse_go_duration(o.timeout.empty() ? (jobs ? "24h" : "30s") : o.timeout));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  if (jobs) return wait_for_jobs(session, o.get, seconds);
  return wait_for(session, o.get, o.condition, seconds);
}

Command wait_command() {
  auto options = std::make_shared<ObjectOptions>();
  Command command = object_command(
      "wait", "wait until a job has ended, or an object is so", options,
      {
          Flag("what", options->get.what, "jobs by NAME; TYPE/NAME, or TYPE NAME")
              .completed_with(Names::jobs)
              .must_be_given(),
          Flag("--for", options->condition,
               "delete, condition=NAME, or jsonpath={.path}=VALUE (default: the end of a job)"),
          Flag("--timeout", options->timeout, "how long")
              .with_default("24h for a job's end, else 30s"),
          quiet_flag(options->get.quiet),
      },
      do_wait);
  command.footer =
      "Exit code: 0 it is so, or all jobs have completed; 1 not, or not in time.\n"
      "Examples:\n"
      "  hekla wait train && echo well done\n"
      "  hekla wait pod/train-worker-0 --for condition=Ready --timeout 2m";
  return command;
}

Command logs_command() {
  auto options = std::make_shared<ObjectOptions>();
  LogOptions& logs = options->logs;
  auto since = std::make_shared<std::string>();
  Command command = object_command(
      "logs", "print the log of a job, with all its pods, or of a pod", options,
      {
          Flag("what", logs.what, "the job or pod: NAME or TYPE/NAME")
              .completed_with(Names::jobs_and_pods)
              .must_be_given(),
          Flag("-c,--container", logs.container, "which container"),
          Flag("-f,--follow", logs.follow, "go on until it ends"),
          Flag("--tail", logs.tail, "only the last lines; -1: all"),
          Flag("-p,--previous", logs.previous, "of the container before it was started again"),
          Flag("--since", *since, "only what is younger, such as 10m"),
          Flag("--timestamps", logs.timestamps, "with the time of each line"),
      },
      [since](ApiSession& session, ObjectOptions& o) -> Result<void> {
        if (!since->empty())
          o.logs.since_seconds = std::chrono::duration_cast<std::chrono::seconds>(
                                     TRY(model::parse_go_duration(*since)))
                                     .count();
        return print_logs(session, o.logs);
      });
  command.footer =
      "A job comes before a pod of the same name; pods/NAME is the pod.\n"
      "Examples:\n"
      "  hekla logs -f train            all replicas, each line with its pod's name\n"
      "  hekla logs pod/train-worker-0 --tail 20";
  return command;
}

Command apply_command() {
  auto options = std::make_shared<ObjectOptions>();
  return object_command(
      "apply", "create or change what files say", options,
      {
          Flag("-f,--filename", options->apply.files, "files, directories, or - for stdin")
              .must_be_given(),
          Flag("--server-side", options->apply.server_side, "let the server merge"),
      },
      [](ApiSession& session, ObjectOptions& o) { return apply_files(session, o.apply); });
}

Command delete_command() {
  auto options = std::make_shared<ObjectOptions>();
  return object_command(
      "delete", "delete objects by name, label or file", options,
      {
          Flag("what", options->get.what, "TYPE and names").completed_with(Names::objects),
          Flag("-l,--selector", options->get.selector, "those with these labels"),
          Flag("--all", options->get.all, "all of the type, in the namespace"),
          Flag("-f,--filename", options->apply.files, "what these files name"),
      },
      [](ApiSession& session, ObjectOptions& o) {
        return o.apply.files.empty() ? delete_objects(session, o.get)
                                     : delete_files(session, o.apply);
      });
}

// By what their help teaches.
constexpr std::pair<std::string_view, const char*> kExamples[] = {
    {"get",
     "Examples:\n"
     "  hekla get vcjob,pods\n"
     "  hekla get queue -o yaml\n"
     "  hekla get pods -l app=web -A\n"
     "  hekla get vcjob train -o jsonpath={.status.state.phase}"},
    {"describe", "Examples:\n  hekla describe vcjob train\n  hekla describe node"},
    {"apply",
     "Examples:\n"
     "  hekla apply -f job.yaml\n"
     "  hekla apply -f examples/quickstart/     every YAML and JSON file of a directory\n"
     "  cat job.yaml | hekla apply -f -"},
    {"delete",
     "Examples:\n"
     "  hekla delete vcjob train\n"
     "  hekla delete pods --all -n team-a\n"
     "  hekla delete -f job.yaml"}};

std::vector<Command> object_commands(const Context&) {
  std::vector<Command> commands{get_command(),  describe_command(), wait_command(),
                                logs_command(), apply_command(),    delete_command()};
  for (Command& command : commands)
    for (const auto& [name, text] : kExamples)
      if (command.name == name) command.footer = text;
  return commands;
}

}  // namespace

extern const Verb verb_objects;
const Verb verb_objects{"objects", object_commands};

}  // namespace hekla::cli
