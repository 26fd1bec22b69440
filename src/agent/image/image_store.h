// The images of this machine: pulled, imported or built once, unpacked once, kept below the data
// directory.
//
//   images/refs/<digest of the name>.json   what a name stands for; used last at its time stamp
//   images/blobs/<digest>                   manifests, configurations and layers as they came
//   images/layers/<chain>                   one unpacked layer, named after it and all below it
//                                           (how a layer is unpacked depends on those)
//   images/tmp                              what is under way
//   images/lock                             held by the one process that adds or removes
//   images/mounts.lock                      shared while layers are being mounted or built upon,
//                                           exclusive while any are taken away
//
// `hekla image` works on the same directory as the agent, beside it or without it: records appear
// and disappear as whole files, and the locks do the rest.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/image/registry/registry.h"
#include "agent/os/file_descriptor.h"
#include "agent/runtime/bundle.h"
#include "base/clock.h"
#include "base/result.h"

namespace hekla::agent {

struct StoredImage {
  std::string name;                 // canonical
  std::string digest;               // of the manifest, or of the index that led to it
  std::string id;                   // repository@digest, as in a container's status
  std::int64_t size = 0;            // bytes of the compressed layers
  std::vector<std::string> layers;  // directories below images/layers, bottom first
  ImageConfig config;
  std::string manifest;            // digest of the manifest itself
  std::vector<std::string> blobs;  // what is kept for it
  bool host = false;               // the layers lie upon the machine's own file system
  std::int64_t added_ns = 0;       // since 1970
  WallTime last_used{};            // not part of the record
};
BOOST_DESCRIBE_STRUCT(StoredImage, (),
                      (name, digest, id, size, layers, config, manifest, blobs, host, added_ns))

struct ImageStoreOptions {
  std::string directory;
  RegistryOptions registries;
  // Told what is being done, for people who wait.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  const Clock* clock = &real_clock();
};

// The outcome of a removal.
struct Removed {
  std::vector<std::string> names;
  std::int64_t bytes = 0;
};

// All calls block. Thread-safe: each takes the locks it needs.
class ImageStore {
 public:
  explicit ImageStore(ImageStoreOptions options) : options_(std::move(options)) {}

  Result<void> prepare();
  Result<std::optional<StoredImage>> find(const ImageReference& image) const;
  // By name.
  Result<std::vector<StoredImage>> list() const;

  Result<StoredImage> pull(const ImageReference& image, const RegistryLogins& logins);
  // Sends the image `name` under the name `target`.
  Result<void> push(const StoredImage& image, const ImageReference& target,
                    const RegistryLogins& logins) const;
  // An archive of docker save or of an OCI layout (a directory too), or a root file system, which
  // needs a name. A name for an archive of one image replaces the archive's own.
  Result<std::vector<StoredImage>> import(const std::string& path,
                                          const std::optional<ImageReference>& name);
  // An archive that import() and docker load understand.
  Result<void> save(const std::vector<StoredImage>& images, const std::string& path) const;
  // One more name for an image that is here.
  Result<StoredImage> tag(const StoredImage& image, const ImageReference& name);

  // An image put together from layers (tar files below temporary(), which are moved) upon those of
  // `base`. `config` is the whole OCI configuration but for the layers' digests.
  struct NewLayer {
    std::string file;
    std::string diff_digest;  // of the tar file before it was compressed
    // In place of both, upon this machine: the upper directory of an overlay, which becomes the
    // layer itself. Gigabytes need not be packed for an image that goes nowhere else.
    std::string tree = {};
  };
  Result<StoredImage> add(const ImageReference& name, const std::optional<StoredImage>& base,
                          bool host, json::Value config, const std::vector<NewLayer>& layers);

  // Takes away names and whatever is needed by none any more. Those `in_use` (by id) are refused.
  Result<Removed> remove(const std::vector<std::string>& names,
                         const std::function<Result<std::set<std::string>>()>& in_use,
                         bool wait = true);
  // All that are not in use and were last used before `before`. Without `wait` a pull under way is
  // an error: it may take as long as it likes.
  Result<Removed> prune(const std::function<Result<std::set<std::string>>()>& in_use,
                        WallTime before, bool wait = true);

  // Mounts a fresh root for a container at bundle/rootfs, upon `base` if the image wants one. The
  // calling thread has a file system context of its own: its working directory is moved.
  Result<void> mount_root(const StoredImage& image, const std::string& bundle,
                          const std::string& base) const;

  // Layers stay where they are as long as this lives.
  Result<FileDescriptor> hold_layers() const;
  // A place for a file of one's own; gone at the next start.
  Result<std::string> temporary(const std::string& name) const;
  std::string blob_path(const std::string& digest) const;
  Result<json::Value> config_of(const StoredImage& image) const;

 private:
  std::string layers_dir() const { return options_.directory + "/layers"; }
  std::string reference_file(const std::string& name) const;
  Result<FileDescriptor> lock_for_change(bool wait = true) const;
  Result<StoredImage> pull_now(const ImageReference& image, const RegistryLogins& logins);
  Result<void> fetch_blob(RegistrySession& session, const BlobDescriptor& blob,
                          const std::string& what);
  // The rest is called with the lock held.
  Result<BlobDescriptor> keep_text(const std::string& text);
  Result<BlobDescriptor> keep_file(const std::string& path);
  // The blobs are here, or the `trees` by their digests: unpacks the layers and gives the image its
  // name.
  Result<StoredImage> assemble(const ImageReference& name, const std::string& digest,
                               const std::string& manifest_text, bool host,
                               const std::map<std::string, std::string>& trees = {});
  Result<std::string> unpack(const BlobDescriptor& blob, const std::string& diff_id,
                             const std::string& chain, const std::vector<std::string>& below);
  Result<void> write_record(const StoredImage& image);
  Result<std::int64_t> sweep();

  friend class ArchiveImport;
  ImageStoreOptions options_;
};

// The user of an image's config ("name", "uid", "name:group", "uid:gid"), looked up in the passwd
// and group files of the root that is mounted at `root`.
Result<void> apply_image_user(const std::string& user, const std::string& root, Security& security);

// The images (by id) that the records of pods below `directory` speak of: those of pods that have
// not ended, and of containers of which something is left.
Result<std::set<std::string>> images_of_pods(const std::string& directory);

}  // namespace hekla::agent
