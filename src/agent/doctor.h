// The abilities of this machine to run pods, and how to get what it lacks. Reads, changes nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

struct Finding {
  enum class Grade { good, note, bad };
  Grade grade = Grade::good;
  std::string what;  // one line
  std::string fix;   // how to change it; empty when there is nothing to do
};

std::vector<Finding> examine_machine();

// Pure: how control groups are mounted, from /proc/self/mountinfo, and whether they have what pods'
// limits need; `unified` is the list of controllers at the root of version 2.
Finding judge_cgroups(const std::string& mountinfo, const std::string& unified);
// Pure: what became of trying out a network like the pods'.
Finding judge_network(const Result<void>& tried);
// Pure: whether the kernel has a file system, from /proc/filesystems.
bool has_file_system(const std::string& filesystems, const std::string& name);

}  // namespace hekla::agent
