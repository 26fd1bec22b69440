// Image manifests, indexes and configurations of the OCI and Docker formats. Pure, but for
// describe_file().
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::agent {

// Media types that a registry is asked for, best first.
inline constexpr const char* kManifestTypes[] = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json"};

struct BlobDescriptor {
  std::string digest;
  std::int64_t size = 0;
};

struct ImageManifest {
  BlobDescriptor config;
  std::vector<BlobDescriptor> layers;  // bottom first
};

struct Platform {
  std::string os = "linux", architecture, variant;
};

// The platform of this machine in Go's names.
Platform this_platform();

// True for an index (a manifest list), which is told by its members when the type is not.
bool is_index(const json::Value& document);
// The manifest for a platform, or "no match for platform in manifest".
Result<BlobDescriptor> choose_manifest(const json::Value& index, const Platform& platform);
// Refuses foreign layers, digests other than SHA-256 and manifests of things that are no images.
// Without layers only if `may_be_empty`.
Result<ImageManifest> read_manifest(const json::Value& document, bool may_be_empty = false);

// A manifest in the OCI format, and a layer as it stands in one.
std::string manifest_text(const BlobDescriptor& config, json::Array layers);
json::Value layer_descriptor(const BlobDescriptor& layer, bool compressed = true);
// Digest and size of a file. Blocks.
Result<BlobDescriptor> describe_file(const std::string& path);

// An image's own words about its containers.
struct ImageConfig {
  std::string user, working_dir;
  std::vector<std::string> env, entrypoint, cmd;
  std::string stop_signal;
};
BOOST_DESCRIBE_STRUCT(ImageConfig, (), (user, working_dir, env, entrypoint, cmd, stop_signal))

ImageConfig read_image_config(const json::Value& document);
// "SIGQUIT", "quit", "3" or "SIGRTMIN+3" as a number; SIGTERM for what is none of these.
int signal_number(std::string_view text);
// The digests of the layers before they were compressed, bottom first; as many as there are layers.
Result<std::vector<std::string>> read_diff_ids(const json::Value& document, std::size_t layers);

}  // namespace hekla::agent
