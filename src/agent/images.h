// The public face of the machine's images, for people who handle them beside the agent or without
// it (`hekla image`): the store, registries and their logins, builds.
#pragma once

#include <string>
#include <vector>

#include "agent/image/build/image_build.h"
#include "agent/image/image_store.h"
#include "agent/image/recipe.h"
#include "agent/image/registry/login_file.h"

namespace hekla::agent {

// Paths that no build on this machine's own file system may see: the data directory, kubeconfigs
// that its platform has written, other instances' data directories, an ordinary user's home.
std::vector<std::string> paths_hidden_from_builds(const std::string& data_dir);

}  // namespace hekla::agent
