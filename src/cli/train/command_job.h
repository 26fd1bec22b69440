// The job that `hekla run -- COMMAND` makes: a gang of equal pods that run it, with Volcano's env
// and svc plugins, so that each knows its index and finds the others.
#pragma once

#include <string>
#include <vector>

#include "cli/train/train_files.h"

namespace hekla::cli {

struct CommandPlan {
  std::vector<std::string> command;
  std::string name, ns, image, queue, output;
  std::string cpu, memory;  // of each; empty: nothing is asked for
  int replicas = 1, gpus = 0;
  TrainFiles files;
};
json::Value command_job(const CommandPlan& plan);

// "train-x7k2p" of "python train.py": the first word that tells programs apart.
std::string name_of_command(const std::vector<std::string>& command, std::string_view suffix);

// bad_request when the words are no command but a file that was meant for -f.
Result<void> check_command(const std::vector<std::string>& command);

// On this machine's own root file system: "python3" where there is no "python".
std::string program_here(const std::string& program);

}  // namespace hekla::cli
