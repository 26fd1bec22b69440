// Sub-paths of volumes. What is in a volume belongs to pods, which may put links anywhere and
// exchange them at any moment: a path is looked up by the kernel, inside the volume alone, and what
// was found is held fast by a mount before anybody else is told its name. Linux calls; blocks.
#pragma once

#include <string>

#include "agent/os/file_descriptor.h"
#include "base/result.h"

namespace hekla::agent {

// Missing directories are made, with the volume's own mode and, where it hands that on, its group.
// Fails when the path leaves `root` by dots or links.
Result<FileDescriptor> open_sub_path(const std::string& root, const std::string& sub);

// Binds what `found` is to `place`, which is made and lies where no pod reaches it.
Result<void> pin(const FileDescriptor& found, const std::string& place);

}  // namespace hekla::agent
