// A directory of this machine as a volume that one claim has for itself.
#pragma once

#include <string>

#include "cli/api_session.h"

namespace hekla::cli {

struct HostVolume {
  std::string ns, name, directory;
  bool read_only = false;  // for every pod, whatever it says
};
// Makes volume and claim. Only who may write volumes of the whole cluster can.
Result<void> add_host_volume(ApiSession& session, const HostVolume& wanted);

}  // namespace hekla::cli
