// hekla tensorboard: the curves of a directory, of a volume or of a bucket.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/verb.h"
#include "cli/web/page_link.h"
#include "cli/workbench/host_volume.h"
#include "cli/workbench/workbench.h"

namespace hekla::cli {
namespace {

struct BoardOptions {
  WorkbenchFlags where;
  PageLink link;
  std::string logs;
  int timeout = 300;
};

// A name from the last part of the path: letters, digits and dashes.
std::string name_from(const std::string& path) {
  std::string name;
  const std::filesystem::path plain =
      std::filesystem::path(path + "/").lexically_normal().parent_path();
  for (const unsigned char c : plain.filename().string())
    if (std::isalnum(c))
      name += static_cast<char>(std::tolower(c));
    else if (!name.empty() && !name.ends_with('-'))
      name += '-';
  while (name.ends_with('-')) name.pop_back();
  return name.empty() || !std::isalpha(static_cast<unsigned char>(name.front())) ? "logs" + name
                                                                                 : name;
}

// A directory of this machine becomes a volume first; one of the same name is taken as it is.
Result<std::string> logs_path(ApiSession& session, const std::string& ns,
                              const BoardOptions& options, const std::string& name) {
  if (options.logs.find("://") != std::string::npos) return options.logs;
  Result<void> added = add_host_volume(session, {ns, name + "-logs", options.logs});
  if (!added && added.error().code != Code::already_exists) return std::unexpected(added.error());
  return "pvc://" + name + "-logs/";
}

Result<void> show(ApiSession& session, const BoardOptions& options) {
  const std::string ns = TRY(home_namespace(session, options.where));
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(options.logs, error);
  const std::string name = !options.where.name.empty() ? options.where.name
                           : options.logs.find("://") == std::string::npos && !error
                               ? name_from(whole.string())
                               : name_from(options.logs);
  const std::string path = TRY(logs_path(session, ns, options, name));
  Result<void> made = create_one(session, kTensorboardKind, ns,
                                 json::Object{{"metadata", json::Object{{"name", name}}},
                                              {"spec", json::Object{{"logspath", path}}}});
  if (!made && made.error().code != Code::already_exists) return made;
  if (!made) {
    const json::Value there = TRY(get_one(session, kTensorboardKind, {ns, name}));
    if (json::string_at(there, {"spec", "logspath"}) != path)
      return fail(Code::conflict, "tensorboard " + name + " shows " +
                                      json::text_at(there, {"spec", "logspath"}) +
                                      ": choose another name with --name");
  }
  std::printf("tensorboard %s shows %s in namespace %s\n", name.c_str(), path.c_str(), ns.c_str());
  std::fflush(stdout);
  TRY(await_ready(session, kTensorboardKind, {ns, name}, std::chrono::seconds(options.timeout)));
  PageLink link = options.link;
  link.path = "/tensorboard/" + ns + "/" + name + "/";
  return open_page(session, link);
}

std::vector<Command> tensorboard_commands(const Context&) {
  auto options = std::make_shared<BoardOptions>();
  Command made{.name = "tensorboard",
               .summary = "show the logs of trainings in a TensorBoard",
               .flags = workbench_flags(options->where)};
  append(made.flags,
         {Flag("logs", options->logs,
               "a directory of this machine, pvc://CLAIM/PATH, s3://BUCKET/PATH or "
               "gs://BUCKET/PATH")
              .must_be_given(),
          Flag("--name", options->where.name, "its name (default: the last part of the path)"),
          Flag("--timeout", options->timeout, "seconds to wait until it answers").with(at_least(1)),
          Flag("--as", options->link.as,
               "whom to log in as (default: the owner of the first Profile)"),
          Flag("--print", options->link.print, "only print the link")});
  made.run = on_cluster(options->where.cluster,
                        [options](ApiSession& session) { return show(session, *options); });
  made.footer =
      "Examples:\n"
      "  hekla tensorboard ./logs\n"
      "  hekla tensorboard pvc://lab-workspace/logs --name lab\n"
      "It runs until it is deleted: hekla delete tensorboard NAME -n NAMESPACE";
  return {std::move(made)};
}

}  // namespace

extern const Verb verb_tensorboard;
const Verb verb_tensorboard{"tensorboard", tensorboard_commands};

}  // namespace hekla::cli
