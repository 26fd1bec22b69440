// Stopping what nobody uses. The gateway notes on a notebook when it was last used; whoever has
// none of its notes counts from the start.
#pragma once

#include "framework/outcome.h"

namespace hekla::controllers::workbench {

// Stopped by its user or for idleness: by the annotation kubeflow-resource-stopped, whatever its
// value.
bool is_stopped(const framework::AnyObject& notebook);

// Edits the notebook's annotations and asks to look again when its time may be over.
void cull(const framework::AnyObject& notebook, bool has_pod, Nanos idle, WallTime now,
          framework::Outcome& outcome);

}  // namespace hekla::controllers::workbench
