// What of this machine no pod may see, though its file system is the host's own image: people's
// homes, keys and passwords, other runtimes' and other instances' files. Reading them would make a
// pod root here, or cluster admin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

// Directories that are empty in every pod, and files that are not there; those of every machine.
std::vector<std::string> hidden_directories();
std::vector<std::string> hidden_files();
// The homes of root and of people (uid 1000 and above) in the text of /etc/passwd, wherever they
// are.
std::vector<std::string> home_directories(std::string_view passwd);

// The paths given, and those that earlier starts from this data directory were given and that still
// exist: a kubeconfig stays a key when the next start writes it elsewhere. Kept in the data
// directory.
Result<std::vector<std::string>> remember_hidden(const std::string& data_dir,
                                                 std::vector<std::string> paths);
std::vector<std::string> remembered_hidden(const std::string& data_dir);

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
