// The kinds of the workbench (Notebook, Tensorboard, Profile, PVCViewer): each is one file in
// kinds/ that exports `const WorkbenchKind workbench_kind_<file>`; the build makes the table from
// the file names.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "framework/kind_description.h"

namespace hekla::controllers::workbench {

struct WorkbenchOptions {
  // Routes are VirtualServices of this gateway and host, if they are served.
  std::string gateway = "kubeflow/kubeflow-gateway";
  std::string gateway_host = "*";
  std::string cluster_domain = "cluster.local";
  bool add_fs_group = true;
  std::string tensorboard_image = "tensorflow/tensorflow:2.5.1";
  std::string viewer_image = "filebrowser/filebrowser:latest";
  // Notebooks that nobody has used this long are stopped; absent: never.
  std::optional<Nanos> cull_after = std::nullopt;
};

// networking.istio.io/v1alpha3; owned as an optional kind.
extern const kube::Resource virtual_services;

struct WorkbenchKind {
  kube::Resource resource;
  framework::KindDescription (*describe)(const WorkbenchOptions& options);
};

// Generated from the file names in kinds/.
std::span<const WorkbenchKind* const> all_workbench_kinds();

}  // namespace hekla::controllers::workbench
