// The programs that containers need: an OCI runtime and the monitor that outlives us.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

struct RuntimePrograms {
  std::string runtime;  // crun or runc, absolute
  std::string monitor;  // conmon
};

// `runtime` is crun, runc, the path of one that behaves like them, or empty: crun, or else runc.
// Names are looked up in `directories`.
Result<RuntimePrograms> find_programs(const std::string& runtime,
                                      const std::vector<std::string>& directories);
// Where distributions put such programs.
std::vector<std::string> program_directories();

// Containers are ended by the runtime that began them: the one that `run_dir` remembers, if it is
// still installed, else `wanted`, which it then remembers.
Result<std::string> keep_runtime(const std::string& run_dir, const std::string& wanted);

// `runtime` as a read-only mount at `place`, in the mount namespace of the calling thread. crun and
// runc lie in a container's reach as its /proc/self/exe while they make it, and protect themselves
// by such a mount at every run (CVE-2019-5736): two mounts, a file and another exec, which this one
// mount saves. Answers what is to be run.
std::string bind_read_only(const std::string& runtime, const std::string& place);

}  // namespace hekla::agent
