// The images of this machine: pulled once, unpacked once, kept below the data directory.
//
//   images/refs/<digest of the name>.json   what a name stands for
//   images/layers/<chain>                   one unpacked layer, named after it and all below it
//                                           (how a layer is unpacked depends on those)
//   images/tmp                              what is under way; emptied at the start
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/image/registry.h"
#include "agent/runtime/bundle.h"
#include "base/result.h"

namespace hekla::agent {

struct StoredImage {
  std::string name;     // canonical
  std::string digest;   // of the manifest, or of the index that led to it
  std::string id;       // repository@digest, as in a container's status
  std::int64_t size = 0;  // bytes of the compressed layers
  std::vector<std::string> layers;  // directories below images/layers, bottom first
  ImageConfig config;
};
BOOST_DESCRIBE_STRUCT(StoredImage, (), (name, digest, id, size, layers, config))

// All calls block. pull() is made by one thread at a time; the others may run beside it.
class ImageStore {
 public:
  ImageStore(std::string directory, RegistryOptions options)
      : directory_(std::move(directory)), options_(std::move(options)) {}

  Result<void> prepare();
  Result<std::optional<StoredImage>> find(const ImageReference& image) const;
  Result<StoredImage> pull(const ImageReference& image, const RegistryLogins& logins);
  // Mounts a fresh root for a container at bundle/rootfs. The calling thread has a file system
  // context of its own: its working directory is moved.
  Result<void> mount_root(const StoredImage& image, const std::string& bundle) const;

 private:
  std::string layers_dir() const { return directory_ + "/layers"; }
  std::string reference_file(const std::string& name) const;
  Result<StoredImage> pull_now(const ImageReference& image, const RegistryLogins& logins);
  Result<std::string> fetch_layer(RegistrySession& session, const BlobDescriptor& blob,
                                  const std::string& chain,
                                  const std::vector<std::string>& below);

  std::string directory_;
  RegistryOptions options_;
};

// The user of an image's config ("name", "uid", "name:group", "uid:gid"), looked up in the passwd
// and group files of the root that is mounted at `root`.
Result<void> apply_image_user(const std::string& user, const std::string& root, Security& security);

}  // namespace hekla::agent
