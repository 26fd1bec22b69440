// Builds an image from a Dockerfile. Blocks; needs root.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/image/image_map.h"
#include "agent/image/image_store.h"
#include "base/result.h"

namespace hekla::agent {

struct BuildRequest {
  std::string store_dir;
  std::string context;     // the directory that COPY and ADD take from
  std::string dockerfile;  // empty: Dockerfile in the context
  std::vector<ImageReference> names;
  std::map<std::string, std::string> arguments;  // --build-arg
  std::map<std::string, std::string> secrets;    // files by their ids: --secret
  std::string target;                            // the stage to stop at
  bool pull = false;                             // ask for base images even if they are here
  ImageMap images;                               // which base images are this machine
  std::vector<std::string> hidden_paths;
  RegistryLogins logins;
  std::function<void(std::string_view)> print;  // what commands print, and the steps
  const std::atomic<bool>* cancelled = nullptr;
};

// One layer on top of the base image's holds all that the steps have changed. Nothing is cached
// between builds.
Result<StoredImage> build_image(ImageStore& store, const BuildRequest& request);

}  // namespace hekla::agent
