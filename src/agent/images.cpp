#include "agent/images.h"

#include "agent/image/masked_paths.h"
#include "agent/os/user_namespace.h"

namespace hekla::agent {

std::vector<std::string> paths_hidden_from_builds(const std::string& data_dir) {
  std::vector<std::string> out = remembered_masked(data_dir);
  out.push_back(data_dir);
  if (std::string home = rootless_home(); !home.empty()) out.push_back(std::move(home));
  for (std::string& other : known_instances(instance_registry())) out.push_back(std::move(other));
  return out;
}

}  // namespace hekla::agent
