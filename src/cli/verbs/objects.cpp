// hekla get, apply, delete, describe, wait, logs: what kubectl does, where there is no kubectl.
#include <memory>

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
  std::string condition, timeout = "30s";
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

Command get_command() {
  auto options = std::make_shared<ObjectOptions>();
  GetOptions& get = options->get;
  return object_command(
      "get", "show objects: TYPE [NAME...], TYPE/NAME, TYPE,TYPE", options,
      {
          Flag("what", get.what, "TYPE and names").must_be_given(),
          Flag("-A,--all-namespaces", get.all_namespaces, "in every namespace"),
          Flag("-l,--selector", get.selector, "only these labels"),
          Flag("-o,--output", get.output, "how they are shown")
              .with(one_of({"yaml", "json", "name", "wide"})),
          Flag("-w,--watch", get.watch, "go on showing what changes"),
      },
      [](ApiSession& session, ObjectOptions& o) { return get_objects(session, o.get); });
}

Command describe_command() {
  auto options = std::make_shared<ObjectOptions>();
  return object_command(
      "describe", "show objects in full, with their events", options,
      {Flag("what", options->get.what, "TYPE [NAME...], TYPE/NAME").must_be_given()},
      [](ApiSession& session, ObjectOptions& o) { return describe_objects(session, o.get); });
}

Command wait_command() {
  auto options = std::make_shared<ObjectOptions>();
  return object_command(
      "wait", "wait until an object is so", options,
      {
          Flag("what", options->get.what, "TYPE/NAME, or TYPE NAME").must_be_given(),
          Flag("--for", options->condition, "delete, condition=NAME, or jsonpath={.path}=VALUE")
              .must_be_given(),
          Flag("--timeout", options->timeout, "how long"),
      },
      [](ApiSession& session, ObjectOptions& o) -> Result<void> {
        Nanos timeout = TRY(model::parse_go_duration(o.timeout));
        return wait_for(session, o.get, o.condition,
                        std::chrono::duration_cast<std::chrono::seconds>(timeout));
      });
}

Command logs_command() {
  auto options = std::make_shared<ObjectOptions>();
  LogOptions& logs = options->logs;
  return object_command(
      "logs", "print the log of a pod, or of all pods of a job", options,
      {
          Flag("what", logs.what, "the pod or job: NAME or TYPE/NAME").must_be_given(),
          Flag("-c,--container", logs.container, "which container"),
          Flag("-f,--follow", logs.follow, "go on until the container ends"),
          Flag("--tail", logs.tail, "only the last lines; -1: all"),
      },
      [](ApiSession& session, ObjectOptions& o) { return print_logs(session, o.logs); });
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
  return object_command("delete", "delete objects by name, label or file", options,
                        {
                            Flag("what", options->get.what, "TYPE and names"),
                            Flag("-l,--selector", options->get.selector, "those with these labels"),
                            Flag("-f,--filename", options->apply.files, "what these files name"),
                        },
                        [](ApiSession& session, ObjectOptions& o) {
                          return o.apply.files.empty() ? delete_objects(session, o.get)
                                                       : delete_files(session, o.apply);
                        });
}

std::vector<Command> object_commands(const Context&) {
  return {get_command(),  describe_command(), wait_command(),
          logs_command(), apply_command(),    delete_command()};
}

}  // namespace

extern const Verb verb_objects;
const Verb verb_objects{"objects", object_commands};

}  // namespace hekla::cli
