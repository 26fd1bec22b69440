// How the TrainJob controller is told to be.
#pragma once

#include <functional>
#include <string>

namespace hekla::controllers::trainer {

// An ssh identity for the nodes of an MPI runtime.
struct SshKey {
  std::string private_pem, public_line;
};

struct Options {
  // Makes a new key each time.
  std::function<SshKey()> make_ssh_key;
};

}  // namespace hekla::controllers::trainer
