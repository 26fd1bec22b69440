// The host image shows a system, and hides the rest of the machine: at the top everything that is
// no part of a system, below that people's homes, keys and passwords, other runtimes' and other
// instances' files. Reading them would make a pod root here, or cluster admin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

// Directories that are empty in every pod, and files that are not there; those of every machine.
std::vector<std::string> masked_directories();
std::vector<std::string> masked_files();
// The names at the top of a file system that belong to no system: all but /usr, /etc and their
// like.
std::vector<std::string> foreign_names(const std::string& root);

// Directories and files with no permission for others, which pods as root could read all the same.
// The contents of such a directory are not named. Where there is more than `most` to look at, the
// rest counts as private.
struct PrivatePaths {
  std::vector<std::string> directories, files;
};
inline constexpr std::size_t kMostLookedAt = 200'000;
PrivatePaths private_paths(const std::string& directory, const std::vector<std::string>& leave_out,
                           std::size_t most = kMostLookedAt);
// The homes of root and of people (uid 1000 and above) in the text of /etc/passwd, wherever they
// are.
std::vector<std::string> home_directories(std::string_view passwd);

// The paths given, and those that earlier starts from this data directory were given and that still
// exist: a kubeconfig stays a key when the next start writes it elsewhere. Kept in the data
// directory.
Result<std::vector<std::string>> remember_masked(const std::string& data_dir,
                                                 std::vector<std::string> paths);
std::vector<std::string> remembered_masked(const std::string& data_dir);

// Where the machine's instances leave word of their data directories.
inline constexpr const char* kInstances = "/var/lib/hekla/instances";
// That, or for an ordinary user a place in his home; empty when he has none.
std::string instance_registry();
// Notes `data_dir` in `registry` and answers all the directories noted there; those that are gone
// are forgotten.
Result<std::vector<std::string>> remember_instance(const std::string& registry,
                                                   const std::string& data_dir);
std::vector<std::string> known_instances(const std::string& registry);

}  // namespace hekla::agent
