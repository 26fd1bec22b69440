// hekla get, apply, delete, describe, wait, logs: what kubectl does, where there is no kubectl.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/objects.h"
#include "cli/verb.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

struct Options {
  ClusterFlags cluster;
  GetOptions get;
  ApplyOptions apply;
  LogOptions logs;
  std::string condition, timeout = "30s";
};
using Work = std::function<Result<void>(ApiSession&, Options&)>;

CLI::App* add_object_verb(CLI::App& app, Context& context, const char* name, const char* summary,
                          const std::shared_ptr<Options>& options, Work work) {
  CLI::App* command = app.add_subcommand(name, summary);
  add_cluster_flags(*command, options->cluster);
  command->add_option("-n,--namespace", options->get.ns, "the namespace");
  run_on_cluster(*command, context, options->cluster,
                 [options, work = std::move(work)](ApiSession& session) {
                   options->apply.ns = options->logs.ns = options->get.ns;
                   return work(session, *options);
                 });
  return command;
}

void declare_reading(CLI::App& app, Context& context) {
  auto get = std::make_shared<Options>();
  CLI::App* command = add_object_verb(
      app, context, "get", "show objects: TYPE [NAME...], TYPE/NAME, TYPE,TYPE", get,
      [](ApiSession& session, Options& o) { return get_objects(session, o.get); });
  command->add_option("what", get->get.what, "TYPE and names")->required();
  command->add_flag("-A,--all-namespaces", get->get.all_namespaces, "in every namespace");
  command->add_option("-l,--selector", get->get.selector, "only these labels");
  command->add_option("-o,--output", get->get.output, "yaml, json, name or wide")
      ->check(CLI::IsMember({"yaml", "json", "name", "wide"}));
  command->add_flag("-w,--watch", get->get.watch, "go on showing what changes");

  auto describe = std::make_shared<Options>();
  add_object_verb(app, context, "describe", "show objects in full, with their events", describe,
                  [](ApiSession& session, Options& o) { return describe_objects(session, o.get); })
      ->add_option("what", describe->get.what, "TYPE [NAME...], TYPE/NAME")
      ->required();

  auto wait = std::make_shared<Options>();
  command =
      add_object_verb(app, context, "wait", "wait until an object is so", wait,
                      [](ApiSession& session, Options& o) -> Result<void> {
                        Nanos patience = TRY(model::parse_go_duration(o.timeout));
                        return wait_for(session, o.get, o.condition,
                                        std::chrono::duration_cast<std::chrono::seconds>(patience));
                      });
  command->add_option("what", wait->get.what, "TYPE/NAME, or TYPE NAME")->required();
  command->add_option("--for", wait->condition, "delete, condition=NAME, or jsonpath={.path}=VALUE")
      ->required();
  command->add_option("--timeout", wait->timeout, "how long")->capture_default_str();

  auto logs = std::make_shared<Options>();
  command =
      add_object_verb(app, context, "logs", "print the log of a pod, or of all pods of a job", logs,
                      [](ApiSession& session, Options& o) { return print_logs(session, o.logs); });
  command->add_option("what", logs->logs.what, "the pod or job: NAME or TYPE/NAME")->required();
  command->add_option("-c,--container", logs->logs.container, "which container");
  command->add_flag("-f,--follow", logs->logs.follow, "go on until the container ends");
  command->add_option("--tail", logs->logs.tail, "only the last lines");
}

void declare_writing(CLI::App& app, Context& context) {
  auto apply = std::make_shared<Options>();
  CLI::App* command = add_object_verb(
      app, context, "apply", "create or change what files say", apply,
      [](ApiSession& session, Options& o) { return apply_files(session, o.apply); });
  command->add_option("-f,--filename", apply->apply.files, "files, directories, or - for stdin")
      ->required();
  command->add_flag("--server-side", apply->apply.server_side, "let the server merge");

  auto remove = std::make_shared<Options>();
  command = add_object_verb(app, context, "delete", "delete objects by name, label or file", remove,
                            [](ApiSession& session, Options& o) {
                              return o.apply.files.empty() ? delete_objects(session, o.get)
                                                           : delete_files(session, o.apply);
                            });
  command->add_option("what", remove->get.what, "TYPE and names");
  command->add_option("-l,--selector", remove->get.selector, "those with these labels");
  command->add_option("-f,--filename", remove->apply.files, "what these files name");
}

void declare(CLI::App& app, Context& context) {
  declare_reading(app, context);
  declare_writing(app, context);
}

}  // namespace

extern const Verb verb_objects;
const Verb verb_objects{"objects", declare};

}  // namespace hekla::cli
