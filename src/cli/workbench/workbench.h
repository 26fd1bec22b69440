// The work that `hekla notebook`, `tensorboard`, `profile` and `volume` share: objects of the
// workbench, made and looked at in one namespace.
#pragma once

#include <chrono>
#include <string>

#include "cli/cluster.h"

namespace hekla::cli {

extern const kube::Resource kNotebookKind, kTensorboardKind, kProfileKind;

// The flags of every command of the workbench.
struct WorkbenchFlags {
  ClusterFlags cluster;
  std::string ns, name;
};
std::vector<Flag> workbench_flags(WorkbenchFlags& flags);

// The namespace that was named, else the one of the first Profile, else the kubeconfig's.
Result<std::string> home_namespace(ApiSession& session, const WorkbenchFlags& flags);

Result<json::Value> get_one(ApiSession& session, const kube::Resource& resource,
                            const kube::Key& key);
Result<void> create_one(ApiSession& session, const kube::Resource& resource, const std::string& ns,
                        json::Object object);
Result<void> patch_one(ApiSession& session, const kube::Resource& resource, const kube::Key& key,
                       const json::Value& patch);
// The object goes, and with it what it made.
Result<void> delete_one(ApiSession& session, const kube::Resource& resource, const kube::Key& key);

// Returns when status.readyReplicas is not 0. The reason why it is not yet is told as it changes.
Result<void> await_ready(ApiSession& session, const kube::Resource& resource, const kube::Key& key,
                         std::chrono::seconds timeout);

// "2h", as kubectl's AGE column.
std::string age_of(const json::Value& object);

}  // namespace hekla::cli
