// The kinds of the workbench (Notebook, Tensorboard, Profile, PVCViewer): each is one file in
// kinds/ that exports `const WorkspaceKind workspace_kind_<file>`; the build makes the table from
// the file names.
#pragma once

#include <span>
#include <string>

#include "framework/kind_description.h"

namespace hekla::controllers::workspace {

struct WorkspaceOptions {
  // Where routes are made: VirtualServices of this gateway and host, if they are served.
  std::string gateway = "kubeflow/kubeflow-gateway";
  std::string gateway_host = "*";
  std::string cluster_domain = "cluster.local";
  bool add_fs_group = true;
};

// networking.istio.io/v1alpha3; owned as an optional kind.
extern const kube::Resource virtual_services;

struct WorkspaceKind {
  kube::Resource resource;
  framework::KindDescription (*describe)(const WorkspaceOptions& options);
};

// Generated from the file names in kinds/.
std::span<const WorkspaceKind* const> all_workspace_kinds();

}  // namespace hekla::controllers::workspace
