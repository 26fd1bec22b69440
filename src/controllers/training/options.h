// How the training controllers are told to be; the flags of the Training Operator, as data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace hekla::controllers::training {

// An ssh identity for the members of an MPIJob.
struct SshKey {
  std::string private_pem, public_line;
};

struct Options {
  // Gangs: "volcano" makes PodGroups that the scheduler of this name admits; "" and "none": none.
  std::string gang_scheduler = "volcano";
  // CUSTOM_CLUSTER_DOMAIN: appended to the hosts in TF_CONFIG and in hostfiles; empty: nothing.
  std::string cluster_domain = {};
  // The container in which a PyTorch worker waits for its master. Here and below, model's
  // kProgramImage: the program of that image does the work.
  std::string pytorch_init_image = "alpine:3.10";
  std::int32_t pytorch_init_tries = 100;
  // The container that brings kubectl to the launcher of an MPIJob v1.
  std::string kubectl_delivery_image = "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest";
  // Makes a new key each time; only MPIJobs of v2beta1 ask. Null: ECDSA keys.
  std::function<SshKey()> make_ssh_key = nullptr;

  bool has_gangs() const { return !gang_scheduler.empty() && gang_scheduler != "none"; }
};

}  // namespace hekla::controllers::training
