// A process beside a container's own: the runtime's `exec` with its ends in our hands.
#pragma once

#include <string>
#include <vector>

#include "agent/os/file_descriptor.h"
#include "base/result.h"

namespace hekla::agent {

struct ExecSpec {
  std::vector<std::string> command;
  bool in = false, out = false, err = false, tty = false;
};

struct ExecPlace {
  std::string runtime;  // the program
  std::string crun_root, container_id, bundle;
  std::string directory;  // of this process alone; made by start_exec
};

// Where conmon serves a container's own stdio: a packet socket, and a pipe for window sizes.
struct AttachPlace {
  std::string socket, control;
};

struct StartedExec {
  std::string directory;
  FileDescriptor process;       // pidfd of crun, which lives as long as the process
  FileDescriptor in, out, err;  // ours: those asked for, without a terminal
  FileDescriptor terminal;      // the master, with one
};

// Blocks until crun runs and, with a terminal, has sent it. Inside the instance's mount namespace.
Result<StartedExec> start_exec(const ExecPlace& place, const ExecSpec& spec);

// After the pidfd became readable: the exit code, or crun's words when the process never began.
// Removes the directory.
Result<int> end_exec(const StartedExec& started);

// Kills what runs, if it has begun.
void kill_exec(const StartedExec& started);

}  // namespace hekla::agent
