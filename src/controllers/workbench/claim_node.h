// The node of a claim that one node alone can use: a further pod must go where the others are.
#pragma once

#include <optional>

#include "framework/view.h"

namespace hekla::controllers::workbench {

// Affinity {nodeAffinity: ...} that prefers the node where a running pod mounts the claim; nothing
// when there is none, or the claim can be used on many nodes. Claims and pods are followed.
std::optional<json::Value> affinity_of_claim(const framework::View& view, const kube::Key& claim);

}  // namespace hekla::controllers::workbench
