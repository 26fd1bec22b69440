#include "controllers/workbench/workbench_kind.h"

namespace hekla::controllers::workbench {

const kube::Resource virtual_services{"networking.istio.io", "v1alpha3", "virtualservices",
                                      "VirtualService"};

}  // namespace hekla::controllers::workbench
