#include "agent/runtime/container_runtime.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>

#include "agent/os/file_descriptor.h"
#include "agent/os/files.h"
#include "agent/os/oom_score.h"
#include "agent/os/process.h"
#include "agent/os/user_namespace.h"
#include "agent/runtime/cgroup.h"
#include "agent/runtime/log_files.h"
#include "agent/runtime/one_user.h"
#include "base/disk.h"
#include "base/log.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::milliseconds kCreateTimeout{120'000};
constexpr int kKilled = 128 + SIGKILL;

std::string monitor_pid_file(const std::string& bundle) { return bundle + "/conmon.pid"; }

std::string last_words(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text) return {};
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

std::optional<pid_t> read_pid(const std::string& path) {
  Result<std::string> text = read_file(path);
  pid_t pid = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), pid).ec != std::errc{})
    return std::nullopt;
  return pid > 1 ? std::optional<pid_t>(pid) : std::nullopt;
}

// crun's message without its own prefix and time stamp lines.
std::string create_failure(const std::string& report, const std::string& stderr_path) {
  if (Result<json::Value> parsed = json::parse(report); parsed) {
    std::string_view message = json::string_at(*parsed, {"message"});
    if (!message.empty()) {
      std::string text(message);
      while (!text.empty() && text.back() == '\n') text.pop_back();
      return text;
    }
  }
  std::string words = last_words(stderr_path);
  return words.empty() ? "the container monitor ended without a word" : words;
}

}  // namespace

Result<std::string> ContainerRuntime::call(std::vector<std::string> words) const {
  words.insert(words.begin(), {programs_.runtime, "--root=" + paths_.crun_root()});
  return run_checked(words);
}

Result<void> ContainerRuntime::create(const CreateRequest& request) {
  json::Value config = request.config;
  if (is_rootless()) adapt_to_one_user(config, TRY(read_file("/proc/thread-self/mountinfo")));
  TRY(replace_file(request.bundle + "/config.json", json::serialize(config), 0600));
  const std::string stderr_path = request.bundle + "/conmon.err";
  std::vector<std::string> argv = {
      programs_.monitor, "--api-version", "1", "-c", request.id, "-u", request.id, "-n", request.id,
      "-r", programs_.runtime, "--runtime-arg", "--root=" + paths_.crun_root(), "-b",
      request.bundle, "-p", request.bundle + "/pid", "--conmon-pidfile",
      monitor_pid_file(request.bundle), "-l", "k8s-file:" + request.log_path, "--exit-dir",
      paths_.exits(), "--persist-dir", request.bundle, "--socket-dir-path", paths_.sockets(),
      "--no-sync-log",
      // The file is then begun anew: a pod that talks without end fills no disk.
      "--log-size-max", std::to_string(kLogFileBytes), "--log-level", "warning"};
  if (is_rootless()) argv.insert(argv.end(), {"--runtime-arg", "--cgroup-manager=disabled"});
  if (request.terminal) argv.emplace_back("-t");
  if (request.keep_stdin_open) argv.emplace_back("-i");
  if (request.keep_stdin_open && !request.stdin_once) argv.emplace_back("--leave-stdin-open");
  Launched launched = TRY(launch_detached(argv, "_OCI_SYNCPIPE", stderr_path));
  Result<std::string> report = read_line(launched.status_pipe.get(), kCreateTimeout);
  wait_for(launched.pid);  // it forks the monitor proper and ends
  if (!report) return std::unexpected(report.error());
  Result<json::Value> parsed = json::parse(*report);
  if (std::int64_t pid = parsed ? json::int_at(*parsed, {"data"}, -1) : -1; pid > 0)
    return set_oom_score(static_cast<pid_t>(pid), request.oom_score_adjust);
  return fail(Code::internal, create_failure(*report, stderr_path));
}

Result<void> ContainerRuntime::start(const std::string& id) {
  TRY(call({"start", id}));
  return {};
}

Result<void> ContainerRuntime::update(const std::string& id, const std::string& bundle,
                                      const json::Object& resources) {
  if (is_rootless()) return {};  // there are no limits to be changed
  const std::string file = bundle + "/resources.json";
  TRY(replace_file(file, json::serialize(resources), 0600));
  TRY(call({"update", "--resources=" + file, id}));
  return {};
}

RuntimeStatus ContainerRuntime::status(const std::string& id) {
  Result<std::string> text = call({"state", id});
  if (!text) return RuntimeStatus::unknown;
  Result<json::Value> state = json::parse(*text);
  if (!state) return RuntimeStatus::unknown;
  std::string_view word = json::string_at(*state, {"status"});
  if (word == "created") return RuntimeStatus::created;
  if (word == "running" || word == "paused") return RuntimeStatus::running;
  if (word == "stopped") return RuntimeStatus::stopped;
  return RuntimeStatus::unknown;
}

Result<void> ContainerRuntime::signal(const std::string& id, int number) {
  Result<std::string> sent = call({"kill", id, std::to_string(number)});
  if (sent || status(id) != RuntimeStatus::running) return {};
  return std::unexpected(sent.error());
}

Result<void> ContainerRuntime::remove(const std::string& id, const std::string& bundle,
                                      const std::string& cgroup) {
  std::error_code error;
  if (std::filesystem::exists(paths_.crun_root() + "/" + id, error))
    TRY(call({"delete", "--force", id}));
  if (!cgroup.empty()) TRY(remove_cgroup(cgroup));
  if (is_monitored(id, bundle))
    if (auto pid = read_pid(monitor_pid_file(bundle))) ::kill(*pid, SIGKILL);
  ::unlink(exit_file(id).c_str());
  ::unlink((paths_.sockets() + "/" + id).c_str());
  return {};
}

std::optional<ContainerExit> ContainerRuntime::exit_of(const std::string& id,
                                                       const std::string& cgroup) {
  Result<std::string> text = read_file(exit_file(id));
  ContainerExit exit;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), exit.code).ec != std::errc{})
    return std::nullopt;
  struct stat info{};
  if (::stat(exit_file(id).c_str(), &info) == 0)
    exit.finished =
        WallTime(std::chrono::seconds(info.st_mtim.tv_sec) + Nanos(info.st_mtim.tv_nsec));
  // A child killed under a surviving first process is the program's affair.
  exit.oom_killed = exit.code == kKilled && oom_kills(cgroup) > 0;
  return exit;
}

bool ContainerRuntime::is_monitored(const std::string& id, const std::string& bundle) {
  std::optional<pid_t> pid = read_pid(monitor_pid_file(bundle));
  if (!pid) return false;
  Result<std::string> command = read_file("/proc/" + std::to_string(*pid) + "/cmdline");
  return command && command->find(id) != std::string::npos;
}

}  // namespace hekla::agent
