// Persistent volumes and claims as decisions: which volume fits a claim, what a volume made for one
// looks like, what a binding writes. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "model/core.h"

namespace hekla::agent {

inline constexpr const char* kLocalPathClass = "local-path";
inline constexpr const char* kLocalPathProvisioner = "rancher.io/local-path";
inline constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";

// The storage class every embedded platform has.
json::Value local_path_class();

// The volume the claim names, the one that is reserved for it, or the smallest that is free; with
// the claim's class and modes, at least its size, and its labels unless it names one. Nothing when
// none fits.
std::optional<std::size_t> match_volume(const json::Value& claim,
                                        const std::vector<json::Value>& volumes);

// The volume for a claim on this node, named pvc-<uid>.
json::Value provisioned_volume(const json::Value& claim, const json::Value& storage_class,
                               const std::string& path, const std::string& node);

// Merge patches that bind the two to each other: the specs, then the statuses.
json::Value claim_binding(const std::string& volume, const std::string& provisioner);
json::Value claim_bound_status(const json::Value& volume);
json::Value volume_claim_ref(const json::Value& claim);

// Where a bound volume's files are on this machine.
Result<std::string> volume_path(const json::Value& volume);

// A volume whose only access mode is ReadOnlyMany is mounted read-only, whatever a pod says.
bool is_read_only(const json::Value& volume);

// The name of the claim behind a volume of the pod: the one it mentions, or that made for an
// ephemeral volume. Empty when there is none.
std::string claim_behind(const model::Pod& pod, const json::Value& volume);

}  // namespace hekla::agent
