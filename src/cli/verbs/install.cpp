// hekla install, upgrade, uninstall: Hekla on somebody's cluster, without helm.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "agent/images.h"
#include "base/build_info.h"
#include "base/command.h"
#include "cli/cluster.h"
#include "cli/cluster_install/image_context.h"
#include "cli/cluster_install/installation.h"
#include "cli/shared_flags.h"
#include "cli/up_options.h"
#include "cli/verb.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

struct InstallFlags {
  ClusterFlags cluster;
  InstallOptions install;
  std::string push, logins = default_data_dir(), output, timeout = "5m";
  std::vector<std::string> insecure, mirrors, authorities;
  bool no_wait = false, crds = false;
};
constexpr std::chrono::minutes kBuildPatience{30};

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// hekla image WORDS on a store of its own; what it printed.
Result<std::string> run_own(const Context& context, const std::string& data_dir,
                            std::vector<std::string> words) {
  const std::string verb = words.front();
  words.insert(words.begin(), {context.executable, "image"});
  words.insert(words.end(), {"--quiet", "--data-dir", data_dir});
  CommandOutcome outcome = TRY(run_command(words, {}, kBuildPatience));
  if (outcome.exit_code != 0) return fail(Code::internal, "hekla image " + verb + " failed");
  while (outcome.output.ends_with('\n')) outcome.output.pop_back();
  return outcome.output;
}

// The passwords of `hekla image login`, for a data directory that is gone soon.
Result<void> lend_logins(const std::string& owner, const std::string& data_dir) {
  namespace fs = std::filesystem;
  const fs::path from = agent::login_file(owner), to = agent::login_file(data_dir);
  std::error_code error;
  if (!fs::exists(from, error)) return {};
  fs::create_directories(to.parent_path(), error);
  if (!fs::copy_file(from, to, error))
    return fail(Code::internal, "read the logins in " + from.string() + ": " + error.message());
  return {};
}

std::vector<std::string> registry_words(const InstallFlags& flags) {
  std::vector<std::string> words;
  const std::pair<const char*, const std::vector<std::string>*> all[] = {
      {"--insecure-registry", &flags.insecure},
      {"--registry-mirror", &flags.mirrors},
      {"--registry-ca", &flags.authorities}};
  for (const auto& [name, values] : all)
    for (const std::string& value : *values) words.insert(words.end(), {name, value});
  return words;
}

// Builds the image of this program and sends it to a registry, with the logins of `hekla image
// login`; its name there, with its digest.
Result<std::string> push_own_image(const Context& context, const InstallFlags& flags) {
  namespace fs = std::filesystem;
  std::string name = flags.push;
  if (name.find(':', name.rfind('/') + 1) == std::string::npos)
    name += std::string(":") + build_info().version;
  std::string directory = (fs::temp_directory_path() / "hekla-image-XXXXXX").string();
  if (!::mkdtemp(directory.data()))
    return fail(Code::internal, "no directory can be made in " + directory);
  auto made = [&]() -> Result<std::string> {
    say("building " + name);
    TRY(write_image_context(directory + "/context"));
    const std::string data_dir = directory + "/data";
    TRY(lend_logins(flags.logins, data_dir));
    TRY(run_own(context, data_dir, {"build", "-t", name, directory + "/context"}));
    say("pushing " + name);
    std::vector<std::string> words = registry_words(flags);
    words.insert(words.begin(), {"push", name});
    return run_own(context, data_dir, std::move(words));
  };
  Result<std::string> pushed = made();
  std::error_code error;
  fs::remove_all(directory, error);
  return pushed;
}

// The image to install: pushed, given, or empty for the one that is there.
Result<void> choose_image(const Context& context, InstallFlags& flags) {
  if (!flags.push.empty() && !flags.install.what.image.empty())
    return fail(Code::bad_request, "--image and --push exclude each other");
  if (!flags.push.empty()) flags.install.what.image = TRY(push_own_image(context, flags));
  flags.install.wait = !flags.no_wait;
  flags.install.timeout = TRY(model::parse_go_duration(flags.timeout));
  return {};
}

Result<void> print_objects(const InstallFlags& flags) {
  std::vector<json::Value> all = TRY(definitions());
  for (json::Value& object : TRY(objects_of(flags.install.what))) all.push_back(std::move(object));
  for (const json::Value& object : all) std::printf("---\n%s", json::to_yaml(object).c_str());
  return {};
}

int finish(const Result<void>& done) {
  if (done) return 0;
  complain(done.error().message);
  return done.error().code == Code::bad_request   ? kUsage
         : done.error().code == Code::unavailable ? kUnreachable
                                                  : kFailed;
}

using Bring = Result<void> (*)(ApiSession&, const InstallOptions&);

int bring(const Context& context, InstallFlags& flags, Bring work) {
  auto all = [&]() -> Result<void> {
    if (flags.install.what.image.empty() && flags.push.empty() && work == install)
      return fail(Code::bad_request,
                  "which image? --image REGISTRY/hekla:VERSION names one that is there, --push "
                  "REGISTRY/hekla builds and pushes one");
    if (!flags.output.empty() && flags.push.empty()) return print_objects(flags);
    std::unique_ptr<ApiSession> session;
    if (flags.output.empty()) session = TRY(connect(flags.cluster));
    TRY(choose_image(context, flags));
    return session ? work(*session, flags.install) : print_objects(flags);
  };
  return finish(all());
}

Command bring_command(const Context& context, const char* name, const char* summary, Bring work) {
  auto flags = std::make_shared<InstallFlags>();
  Command command{.name = name, .summary = summary, .flags = cluster_flags(flags->cluster)};
  append(command.flags,
         {
             Flag("-n,--namespace", flags->install.what.ns, "where its processes run"),
             Flag("--image", flags->install.what.image, "the image to run"),
             Flag("--push", flags->push,
                  "REGISTRY/NAME[:TAG]: build the image of this program, push it there and run it"),
             Flag("--logins", flags->logins,
                  "data directory of the hekla image login whose passwords --push uses")
                 .with_default("/var/lib/hekla, or ~/.local/share/hekla without root"),
             Flag("--no-wait", flags->no_wait, "do not wait until it works"),
             Flag("--timeout", flags->timeout, "how long to wait"),
             Flag("-o,--output", flags->output, "print the objects and change nothing")
                 .with(one_of({"yaml"})),
         });
  append(command.flags, registry_flags(flags->insecure, flags->mirrors, flags->authorities));
  command.run = [&context, flags, work] { return bring(context, *flags, work); };
  return command;
}

Command install_command(const Context& context) {
  Command command =
      bring_command(context, "install", "bring Hekla to a Kubernetes cluster", install);
  command.footer =
      "Examples:\n"
      "  hekla install --kubeconfig ~/.kube/config --push registry.example.com/hekla\n"
      "  hekla install --image registry.example.com/hekla:0.1.0 -o yaml > hekla.yaml";
  return command;
}

Command uninstall_command() {
  auto flags = std::make_shared<InstallFlags>();
  Command command{.name = "uninstall",
                  .summary = "take Hekla away from a cluster; jobs and queues stay",
                  .flags = cluster_flags(flags->cluster)};
  append(command.flags, {Flag("-n,--namespace", flags->install.what.ns, "where its processes run"),
                         Flag("--crds", flags->crds,
                              "the kinds too, and with them every job, queue and notebook")});
  command.run = on_cluster(flags->cluster, [flags](ApiSession& session) {
    return uninstall(session, flags->install.what.ns, flags->crds);
  });
  return command;
}

std::vector<Command> install_commands(const Context& context) {
  return {install_command(context),
          bring_command(context, "upgrade",
                        "bring a cluster's Hekla to the version of this program", upgrade),
          uninstall_command()};
}

}  // namespace

extern const Verb verb_install;
const Verb verb_install{"install", install_commands};

}  // namespace hekla::cli
