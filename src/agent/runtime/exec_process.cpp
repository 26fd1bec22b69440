#include "agent/runtime/exec_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

#include "agent/os/files.h"
#include "agent/os/instance.h"
#include "agent/os/oom_score.h"
#include "agent/os/process.h"
#include "agent/os/user_namespace.h"
#include "base/disk.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::milliseconds kConsoleTimeout{10'000};

// The container's own process section with another command.
Result<void> write_process_file(const ExecPlace& place, const ExecSpec& spec) {
  json::Value config = TRY(json::parse(TRY(read_file(place.bundle + "/config.json"))));
  const json::Value* process = json::find(config, "process");
  if (!process || !process->is_object())
    return fail(Code::internal, "the container's config.json has no process");
  json::Object object = process->get_object();
  json::Array args;
  for (const std::string& word : spec.command) args.emplace_back(word);
  object["args"] = std::move(args);
  object["terminal"] = spec.tty;
  if (spec.tty && object["env"].is_array()) object["env"].get_array().emplace_back("TERM=xterm");
  return replace_file(place.directory + "/process.json",
                      json::serialize(json::Value(std::move(object))), 0600);
}

// crun gives a process of exec its caller's score, which is not the container's: a shell takes that
// before it becomes crun.
std::vector<std::string> with_oom_score_of(const std::string& bundle,
                                           std::vector<std::string> argv) {
  const std::string text = read_file(bundle + "/pid").value_or("");
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  const std::optional<int> score = pid > 1 ? oom_score(pid) : std::nullopt;
  if (!score || score == oom_score(::getpid())) return argv;
  argv.insert(argv.begin(), {"/bin/sh", "-c",
                             R"({ echo "$0" > /proc/self/oom_score_adj; } 2> /dev/null; exec "$@")",
                             std::to_string(*score)});
  return argv;
}

Result<FileDescriptor> listen_for_console(const std::string& path) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("open a console socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(Code::internal, path + " is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 1) != 0)
    return errno_error("listen on " + path);
  return socket;
}

// Waits for the listener or for crun's end, whatever comes first.
bool wait_readable(int fd, int process) {
  std::array<pollfd, 2> waiting{{{fd, POLLIN, 0}, {process, POLLIN, 0}}};
  while (::poll(waiting.data(), waiting.size(), static_cast<int>(kConsoleTimeout.count())) < 0)
    if (errno != EINTR) return false;
  return (waiting[0].revents & POLLIN) != 0;
}

FileDescriptor receive_descriptor(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0) return {};
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return FileDescriptor(fd);
}

// crun that ended before it sent a terminal has left its reason; end_exec() finds it.
Result<void> take_terminal(int listener, StartedExec& started) {
  if (!wait_readable(listener, started.process.get())) return {};
  FileDescriptor connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return errno_error("accept the console's connection");
  if (wait_readable(connection.get(), started.process.get()))
    started.terminal = receive_descriptor(connection.get());
  return {};
}

struct Ends {
  Pipe in, out, err;
  FileDescriptor null;
};

Result<Ends> make_ends(const ExecSpec& spec) {
  Ends ends;
  ends.null = FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!ends.null) return errno_error("open /dev/null");
  if (spec.tty) return ends;
  if (spec.in) ends.in = TRY(make_pipe());
  if (spec.out) ends.out = TRY(make_pipe());
  if (spec.err) ends.err = TRY(make_pipe());
  return ends;
}

Result<StartedExec> start_in_directory(const ExecPlace& place, const ExecSpec& spec) {
  TRY(write_process_file(place, spec));
  std::vector<std::string> argv = {place.runtime,
                                   "--root=" + place.crun_root,
                                   "--log=" + place.directory + "/log",
                                   "exec",
                                   "--process=" + place.directory + "/process.json",
                                   "--pid-file=" + place.directory + "/pid"};
  FileDescriptor listener;
  if (spec.tty) {
    listener = TRY(listen_for_console(place.directory + "/c"));
    argv.emplace_back("--tty");
    argv.push_back("--console-socket=" + place.directory + "/c");
  }
  if (is_rootless()) argv.insert(argv.begin() + 1, "--cgroup-manager=disabled");
  argv.push_back(place.container_id);
  Ends ends = TRY(make_ends(spec));
  auto end_or_null = [&](const FileDescriptor& end) { return end ? end.get() : ends.null.get(); };
  pid_t pid =
      TRY(start_process(with_oom_score_of(place.bundle, std::move(argv)), end_or_null(ends.in.read),
                        end_or_null(ends.out.write), end_or_null(ends.err.write)));
  StartedExec started;
  started.directory = place.directory;
  started.process = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!started.process) {
    auto error = errno_error("open a pidfd");
    ::kill(pid, SIGKILL);
    wait_for(pid);
    return error;
  }
  started.in = std::move(ends.in.write);
  started.out = std::move(ends.out.read);
  started.err = std::move(ends.err.read);
  if (spec.tty) TRY(take_terminal(listener.get(), started));
  return started;
}

}  // namespace

Result<StartedExec> start_exec(const ExecPlace& place, const ExecSpec& spec) {
  TRY(make_directories(place.directory));
  Result<StartedExec> started = start_in_directory(place, spec);
  std::error_code ignored;
  if (!started) std::filesystem::remove_all(place.directory, ignored);
  return started;
}

Result<int> end_exec(const StartedExec& started) {
  siginfo_t info{};
  ::waitid(P_PIDFD, static_cast<id_t>(started.process.get()), &info, WEXITED);
  int code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  std::error_code ignored;
  bool began = std::filesystem::exists(started.directory + "/pid", ignored);
  std::string words = read_file(started.directory + "/log").value_or("");
  std::filesystem::remove_all(started.directory, ignored);
  if (began) return code;
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (words.empty()) words = "exit status " + std::to_string(code);
  return fail(Code::internal, "OCI runtime exec failed: exec failed: " + words);
}

void kill_exec(const StartedExec& started) {
  Result<std::string> text = read_file(started.directory + "/pid");
  pid_t pid = 0;
  if (text && std::from_chars(text->data(), text->data() + text->size(), pid).ec == std::errc{} &&
      pid > 1) {
    ::kill(pid, SIGKILL);
    return;
  }
  // crun has not got that far: without it nothing will begin.
  ::syscall(SYS_pidfd_send_signal, started.process.get(), SIGKILL, nullptr, 0);
}

}  // namespace hekla::agent
