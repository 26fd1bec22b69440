// The job that `hekla train` makes of a script: pure, from what the command line says and how its
// files get into the pods.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/jobs/job_kinds.h"

namespace hekla::cli {

// A framework as people name it, and the job that trains with it.
struct Framework {
  std::string_view name;       // of --framework
  const kube::Resource* kind;  // PyTorchJob
  std::string_view roles;      // member of spec
  std::string_view container;
  std::string_view master;                 // the role of the first process; empty: all are workers
  std::string_view module;                 // a program's first import
  std::string_view recipe;                 // the environment of the embedded platform that has it
  std::string_view image;                  // where images are pulled; empty: nobody publishes one
  std::vector<std::string_view> launcher;  // stands between python and the script
};
std::span<const Framework> frameworks();
const Framework* find_framework(std::string_view name);

// How files of this machine, or of a claim, get into the pods.
struct TrainFiles {
  json::Array volumes, mounts;
  std::string script;  // its path in the pod
  std::string venv;    // the environment's path in the pod; empty: the image's python
  std::optional<std::uint32_t> user, group;  // the pods' processes are theirs; absent: the image's
  std::vector<std::uint32_t> groups;
};

struct TrainPlan {
  const Framework* framework = nullptr;
  std::string name, ns, image, queue;
  std::vector<std::string> arguments;  // of the script
  int workers = 1, gpus = 0;
  std::string cpu, memory;  // of each worker; empty: nothing is asked for
  TrainFiles files;
};
json::Value train_job(const TrainPlan& plan);

// A name for the job of a script: "mnist-x7k2p" of "my/MNIST.py".
std::string job_name_of(const std::string& script, std::string_view suffix);

}  // namespace hekla::cli
