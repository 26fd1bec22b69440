// hekla notebook: notebooks with few words.
#include <cstdio>
#include <memory>

#include "cli/verb.h"
#include "cli/web/page_link.h"
#include "cli/workbench/notebook_object.h"
#include "cli/workbench/workbench.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

constexpr const char* kStopped = "kubeflow-resource-stopped";

struct NotebookOptions {
  WorkbenchFlags where;
  NotebookWishes wishes;
  PageLink link;
  int timeout = 300;
  bool no_wait = false;
};
using Options = std::shared_ptr<NotebookOptions>;

Result<kube::Key> key_of(ApiSession& session, const NotebookOptions& options) {
  return kube::Key{TRY(home_namespace(session, options.where)), options.where.name};
}

bool is_stopped(const json::Value& notebook) {
  return json::find_path(notebook, {"metadata", "annotations", kStopped}) != nullptr;
}

Result<void> set_stopped(ApiSession& session, const kube::Key& key, json::Value value) {
  return patch_one(
      session, kNotebookKind, key,
      json::Object{
          {"metadata", json::Object{{"annotations", json::Object{{kStopped, std::move(value)}}}}}});
}

Result<void> show(ApiSession& session, const kube::Key& key, const NotebookOptions& options) {
  if (options.no_wait) return {};
  TRY(await_ready(session, kNotebookKind, key, std::chrono::seconds(options.timeout)));
  PageLink link = options.link;
  link.path = "/notebook/" + key.ns + "/" + key.name + "/";
  return open_page(session, link);
}

Result<void> create(ApiSession& session, const NotebookOptions& options) {
  const kube::Key key = TRY(key_of(session, options));
  json::Object notebook = TRY(notebook_object(key, options.wishes));
  if (options.wishes.workspace != "none") {
    Result<void> claimed = create_one(session, kube::resources::persistent_volume_claims, key.ns,
                                      workspace_claim(key.name, options.wishes));
    if (!claimed && claimed.error().code != Code::already_exists) return claimed;
  }
  TRY(create_one(session, kNotebookKind, key.ns, std::move(notebook)));
  std::printf("notebook %s is made in namespace %s\n", key.name.c_str(), key.ns.c_str());
  std::fflush(stdout);
  return show(session, key, options);
}

Result<void> open(ApiSession& session, const NotebookOptions& options) {
  const kube::Key key = TRY(key_of(session, options));
  if (is_stopped(TRY(get_one(session, kNotebookKind, key))))
    return fail(Code::conflict, "notebook " + key.name + " is stopped: hekla notebook start " +
                                    key.name + " -n " + key.ns);
  return show(session, key, options);
}

Result<void> stop(ApiSession& session, const NotebookOptions& options) {
  const kube::Key key = TRY(key_of(session, options));
  TRY(set_stopped(session, key, json::Value(model::format_rfc3339(real_clock().wall()))));
  std::printf("notebook %s is stopped; what lies in its volumes stays\n", key.name.c_str());
  return {};
}

Result<void> start(ApiSession& session, const NotebookOptions& options) {
  const kube::Key key = TRY(key_of(session, options));
  TRY(set_stopped(session, key, nullptr));
  std::printf("notebook %s is started\n", key.name.c_str());
  std::fflush(stdout);
  return show(session, key, options);
}

Result<void> remove(ApiSession& session, const NotebookOptions& options) {
  const kube::Key key = TRY(key_of(session, options));
  TRY(delete_one(session, kNotebookKind, key));
  std::printf("notebook %s is deleted; its volumes stay\n", key.name.c_str());
  return {};
}

std::string state_of(const json::Value& notebook) {
  if (json::find_path(notebook, {"metadata", "deletionTimestamp"})) return "Terminating";
  if (json::int_at(notebook, {"status", "readyReplicas"}) > 0) return "Ready";
  if (is_stopped(notebook)) return "Stopped";
  const std::string waits =
      json::text_at(notebook, {"status", "containerState", "waiting", "reason"});
  return waits.empty() ? "Waiting" : waits;
}

Result<void> list(ApiSession& session, const NotebookOptions& options) {
  std::vector<std::vector<std::string>> rows{{"NAMESPACE", "NAME", "STATE", "IMAGE", "AGE"}};
  for (const json::Value& one : TRY(list_objects(session, kNotebookKind))) {
    const std::string ns = json::text_at(one, {"metadata", "namespace"});
    if (!options.where.ns.empty() && ns != options.where.ns) continue;
    const json::Array* containers = json::array_at(one, {"spec", "template", "spec", "containers"});
    rows.push_back(
        {ns, json::text_at(one, {"metadata", "name"}), state_of(one),
         containers && !containers->empty() ? json::text_at(containers->front(), {"image"}) : "",
         age_of(one)});
  }
  std::fputs(columns(rows).c_str(), stdout);
  return {};
}

using Work = Result<void> (*)(ApiSession&, const NotebookOptions&);

Command command(const Options& options, const char* name, const char* summary, Work work) {
  Command made{.name = name, .summary = summary, .flags = workbench_flags(options->where)};
  if (work != list)
    made.flags.push_back(Flag("name", options->where.name, "the notebook").must_be_given());
  if (work == create || work == start)
    made.flags.push_back(Flag("--no-wait", options->no_wait, "do not wait until it answers"));
  if (work == create || work == start || work == open) {
    made.flags.push_back(
        Flag("--timeout", options->timeout, "seconds to wait until it answers").with(at_least(1)));
    made.flags.push_back(Flag("--as", options->link.as,
                              "whom to log in as (default: the owner of the first Profile)"));
    made.flags.push_back(Flag("--print", options->link.print, "only print the link"));
  }
  made.run = on_cluster(options->where.cluster,
                        [options, work](ApiSession& session) { return work(session, *options); });
  return made;
}

void add_wishes(NotebookWishes& wishes, Command& made) {
  append(made.flags,
         {Flag("--image", wishes.image, "the image"),
          Flag("--cpu", wishes.cpu, "processors it asks for"),
          Flag("--memory", wishes.memory, "memory it asks for"),
          Flag("--gpus", wishes.gpus, "GPUs it asks for").with(between(0, 1024)),
          Flag("--workspace", wishes.workspace,
               "size of the volume NAME-workspace at /home/jovyan, or none"),
          Flag("--volume", wishes.volumes,
               "CLAIM:/PATH or CLAIM:/PATH:ro, a volume it mounts; repeatable"),
          Flag("--configuration", wishes.configurations,
               "label of a PodDefault it shall have, such as access-ml-pipeline; repeatable")});
}

std::vector<Command> notebook_commands(const Context&) {
  auto options = std::make_shared<NotebookOptions>();
  Command made = command(options, "create", "make a notebook and open it", create);
  add_wishes(options->wishes, made);
  Command notebooks{.name = "notebook", .summary = "notebook servers"};
  notebooks.commands = {
      std::move(made),
      command(options, "open", "open a notebook in a browser, logged in", open),
      command(options, "stop", "stop a notebook; its volumes stay", stop),
      command(options, "start", "start a notebook that was stopped, and open it", start),
      command(options, "list", "show the notebooks of all namespaces, or of one", list),
      command(options, "delete", "delete a notebook; its volumes stay", remove)};
  notebooks.footer =
      "Examples:\n"
      "  hekla notebook create lab --volume data:/data:ro\n"
      "  hekla notebook open lab --print\n"
      "The namespace is that of the first Profile unless -n names another.";
  return {std::move(notebooks)};
}

}  // namespace

extern const Verb verb_notebook;
const Verb verb_notebook{"notebook", notebook_commands};

}  // namespace hekla::cli
