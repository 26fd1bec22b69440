// Child processes: the OCI runtime and its monitor. Everything here blocks and belongs on a worker
// thread; children inherit that thread's namespaces.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "agent/os/file_descriptor.h"
#include "base/result.h"

namespace hekla::agent {

struct ProcessOutcome {
  int status = 0;      // exit code, or 128 + signal
  std::string output;  // stdout and stderr together, at most 64 KiB
};

// Where a tarball of Hekla has crun, conmon and their libraries: ../lib as seen from this program.
// Empty: this program came without them.
const std::string& bundled_directory();

// Runs a program to its end. The environment holds PATH, a word to the OCI runtime and, for
// programs that came with this one, the place of their libraries.
Result<ProcessOutcome> run_process(const std::vector<std::string>& argv);

// run_process, failing with the program's own words unless it exits with 0.
Result<std::string> run_checked(const std::vector<std::string>& argv);

// Starts a program on the descriptors given as stdin, stdout and stderr; the caller waits for it.
Result<pid_t> start_process(const std::vector<std::string>& argv, int in, int out, int err);

struct Pipe {
  FileDescriptor read, write;
};
Result<Pipe> make_pipe();

struct Launched {
  pid_t pid = -1;
  FileDescriptor status_pipe;  // the read end; the child holds the write end as fd 3
};

// Starts a program in a session of its own, stdin and stdout on /dev/null, stderr appended to
// `stderr_path`; `status_variable` in its environment says "3".
Result<Launched> launch_detached(const std::vector<std::string>& argv,
                                 const std::string& status_variable,
                                 const std::string& stderr_path);

// Reads one line, or all there is until the other end closes; fails on a timeout.
Result<std::string> read_line(int fd, std::chrono::milliseconds timeout);

// Waits for a child; its exit code, or 128 + signal.
int wait_for(pid_t pid);

}  // namespace hekla::agent
