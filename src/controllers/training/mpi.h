// What the two transports of MPIJobs have in common: exec (v1, kinds/mpijob.cpp) and ssh (v2beta1,
// mpi_ssh.cpp).
#pragma once

#include "controllers/training/job_round.h"

namespace hekla::controllers::training {

// MPIJobs of v2beta1.
extern const TrainingKind mpi_over_ssh;

inline constexpr const char* kMpiConfig = "mpi-job-config";  // volume
inline constexpr const char* kMpiConfigPath = "/etc/mpi";

std::int64_t slots_per_worker(const TrainingJob& job);
// The container that MPI runs in is a pod's first.
json::Object& first_container(json::Value& pod);
// A file of the job's ConfigMap.
json::Value config_item(std::string_view key, int mode);
// Mounts the ConfigMap <job>-config into the first container.
void mount_config(const TrainingJob& job, json::Value& pod, json::Array items);
// Worker pods that run, by name.
std::vector<framework::PodRef> running_workers(JobRound& round);
// How many of the workers' pods were evicted.
std::int32_t evicted_workers(JobRound& round);
// No devices for a launcher that only starts others.
void hide_gpus(json::Object& container);

}  // namespace hekla::controllers::training
