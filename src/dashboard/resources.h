// Resources that the page and the apps read and write, beyond those of kube.
#pragma once

#include "kube/client.h"

namespace hekla::dashboard {

inline const kube::Resource kNotebooks{"kubeflow.org", "v1", "notebooks", "Notebook"};
inline const kube::Resource kPodDefaults{"kubeflow.org", "v1alpha1", "poddefaults", "PodDefault"};
inline const kube::Resource kViewers{"kubeflow.org", "v1alpha1", "pvcviewers", "PVCViewer"};
inline const kube::Resource kProfiles{"kubeflow.org", "v1", "profiles", "Profile", false};
inline const kube::Resource kTensorboards{"tensorboard.kubeflow.org", "v1alpha1", "tensorboards",
                                          "Tensorboard"};
inline const kube::Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                          "RoleBinding"};

}  // namespace hekla::dashboard
