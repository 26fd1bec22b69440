#include "controllers/workspace/workspace_kind.h"

namespace hekla::controllers::workspace {

const kube::Resource virtual_services{"networking.istio.io", "v1alpha3", "virtualservices",
                                      "VirtualService"};

}  // namespace hekla::controllers::workspace
