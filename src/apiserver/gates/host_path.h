// HostPathProtection: no volume shows what the platform keeps on its machine, keys and other pods'
// files among it.
#pragma once

#include <string>
#include <vector>

#include "kube/admission.h"

namespace hekla::apiserver {

struct HostPathOptions {
  std::vector<std::string> hidden;  // absolute; neither they nor what lies in them may be a volume
  std::vector<std::string>
      volumes;  // except here, for PersistentVolumes: where the provisioner makes its own
};

kube::AdmissionStep host_path_admission(HostPathOptions options);

}  // namespace hekla::apiserver
