// hekla inside: what Hekla does in the containers that controllers add to pods. Not for people.
#include <memory>
#include <sstream>

#include "base/disk.h"
#include "base/environment.h"
#include "cli/inside/delivery.h"
#include "cli/inside/pod_exec.h"
#include "cli/inside/waiting.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

constexpr int kWorkersPatience = 3600;

struct InsideOptions {
  std::string name, port, container, directory = "/opt/kube", hostfile = "/etc/mpi/hostfile";
  std::vector<std::string> command;
  int patience = 300;
};

int outcome_of(const Result<int>& result) {
  if (result) return *result;
  complain(result.error().message);
  return kFailed;
}
int outcome_of(const Result<void>& result) {
  return outcome_of(result ? Result<int>(0) : Result<int>(std::unexpected(result.error())));
}

Result<int> exec_here(const InsideOptions& options) {
  std::unique_ptr<ApiSession> session = TRY(open_session_in_pod());
  return exec_in_pod(*session, {session->access().default_namespace, options.name,
                                options.container, options.command});
}

// mpirun's first exec must find its workers running.
Result<void> deliver(const InsideOptions& options) {
  TRY(deliver_kubectl(options.directory));
  std::vector<std::string> pods;
  std::istringstream lines(read_file(options.hostfile).value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (std::string pod = line.substr(0, line.find_first_of(" :"));
        !pod.empty() && pod != environment_variable("HOSTNAME"))
      pods.push_back(std::move(pod));
  std::unique_ptr<ApiSession> session = TRY(open_session_in_pod());
  return wait_for_running(*session, session->access().default_namespace, pods,
                          std::chrono::seconds(options.patience));
}

Flag patience_flag(InsideOptions& options) {
  return Flag("--timeout", options.patience, "seconds");
}

Command wait_for_name_command() {
  auto options = std::make_shared<InsideOptions>();
  return {
      .name = "wait-for-name",
      .summary = "wait until a name can be looked up",
      .flags = {Flag("name", options->name, "the name").must_be_given(), patience_flag(*options)},
      .run = [options] {
        return outcome_of(wait_for_name(options->name, std::chrono::seconds(options->patience)));
      }};
}

Command wait_for_port_command() {
  auto options = std::make_shared<InsideOptions>();
  return {
      .name = "wait-for-port",
      .summary = "wait until a port is open",
      .flags = {Flag("host", options->name, "the host").must_be_given(),
                Flag("port", options->port, "the port").must_be_given(), patience_flag(*options)},
      .run = [options] {
        return outcome_of(
            wait_for_port(options->name, options->port, std::chrono::seconds(options->patience)));
      }};
}

Command deliver_command() {
  auto options = std::make_shared<InsideOptions>();
  options->patience = kWorkersPatience;
  return {.name = "deliver-kubectl",
          .summary = "lay a kubectl into a directory, and wait until the hosts of MPI run",
          .flags =
              {Flag("--target", options->directory, "the directory").from_environment("TARGET_DIR"),
               Flag("--hostfile", options->hostfile, "the hosts: pods of this namespace"),
               patience_flag(*options)},
          .run = [options] { return outcome_of(deliver(*options)); }};
}

Command kubectl_command() {
  auto options = std::make_shared<InsideOptions>();
  return {.name = "kubectl",
          .summary = "the part of kubectl that launchers use",
          .commands = {{.name = "exec",
                        .summary = "run a command in a pod",
                        .flags = {Flag("pod", options->name, "the pod").must_be_given(),
                                  Flag("-c,--container", options->container, "the container"),
                                  Flag("command", options->command, "the command").must_be_given()},
                        .run = [options] { return outcome_of(exec_here(*options)); }}}};
}

std::vector<Command> inside_commands(const Context&) {
  return {{.name = "inside",
           .summary = "work in the containers that controllers add to pods",
           .commands = {wait_for_name_command(), wait_for_port_command(), deliver_command(),
                        kubectl_command()},
           .hidden = true}};
}

}  // namespace

extern const Verb verb_inside;
const Verb verb_inside{"inside", inside_commands};

}  // namespace hekla::cli
