#include "agent/image/manifest.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>

#include "agent/image/reference.h"
#include "agent/runtime/file_descriptor.h"
#include "base/sha256.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kMostLayers = 127;  // what overlayfs options have room for
constexpr std::int64_t kLargestConfig = 8 << 20;

Result<BlobDescriptor> read_descriptor(const json::Value& value, const std::string& what) {
  BlobDescriptor out{std::string(json::string_at(value, {"digest"})),
                     json::int_at(value, {"size"}, -1)};
  if (!is_sha256_digest(out.digest))
    return fail(Code::invalid, what + ": invalid digest \"" + out.digest + "\"");
  if (out.size < 0) return fail(Code::invalid, what + " " + out.digest + ": invalid size");
  return out;
}

std::vector<std::string> text_list(const json::Value& document, std::string_view member) {
  std::vector<std::string> out;
  if (const json::Array* list = json::array_at(document, {"config", member}))
    for (const json::Value& text : *list)
      if (text.is_string()) out.emplace_back(json::sv(text.get_string()));
  return out;
}

}  // namespace

Platform this_platform() {
  utsname facts{};
  ::uname(&facts);
  std::string machine = facts.machine;
  if (machine == "x86_64") return {"linux", "amd64", ""};
  if (machine == "aarch64") return {"linux", "arm64", "v8"};
  return {"linux", machine, ""};
}

bool is_index(const json::Value& document) {
  std::string_view type = json::string_at(document, {"mediaType"});
  if (!type.empty()) return type == kManifestTypes[0] || type == kManifestTypes[1];
  return json::array_at(document, {"manifests"}) != nullptr;
}

Result<BlobDescriptor> choose_manifest(const json::Value& index, const Platform& platform) {
  const json::Value* fallback = nullptr;
  if (const json::Array* manifests = json::array_at(index, {"manifests"})) {
    for (const json::Value& entry : *manifests) {
      if (json::string_at(entry, {"platform", "os"}) != platform.os ||
          json::string_at(entry, {"platform", "architecture"}) != platform.architecture)
        continue;
      std::string_view variant = json::string_at(entry, {"platform", "variant"});
      if (variant == platform.variant) return read_descriptor(entry, "index");
      if (!fallback && (variant.empty() || platform.variant.empty())) fallback = &entry;
    }
  }
  if (fallback) return read_descriptor(*fallback, "index");
  return fail(Code::not_found, "no match for platform in manifest: not found");
}

Result<ImageManifest> read_manifest(const json::Value& document, bool may_be_empty) {
  if (json::int_at(document, {"schemaVersion"}) != 2)
    return fail(Code::invalid, "unsupported manifest schema version");
  const json::Value* config = json::find(document, "config");
  if (!config) return fail(Code::invalid, "the manifest has no config");
  ImageManifest out;
  out.config = TRY(read_descriptor(*config, "config"));
  if (out.config.size > kLargestConfig) return fail(Code::invalid, "the image config is too large");
  const json::Array* layers = json::array_at(document, {"layers"});
  if (!layers || (layers->empty() && !may_be_empty)) return fail(Code::invalid, "the manifest has no layers");
  if (layers->size() > kMostLayers)
    return fail(Code::invalid, "the image has " + std::to_string(layers->size()) +
                                   " layers, more than " + std::to_string(kMostLayers));
  for (const json::Value& layer : *layers) {
    std::string_view type = json::string_at(layer, {"mediaType"});
    bool tar = type.find(".tar") != std::string_view::npos &&
               type.find("foreign") == std::string_view::npos &&
               type.find("encrypted") == std::string_view::npos;
    if (!tar) return fail(Code::invalid, "unsupported layer type \"" + std::string(type) + "\"");
    out.layers.push_back(TRY(read_descriptor(layer, "layer")));
  }
  return out;
}

ImageConfig read_image_config(const json::Value& document) {
  return {std::string(json::string_at(document, {"config", "User"})),
          std::string(json::string_at(document, {"config", "WorkingDir"})),
          text_list(document, "Env"), text_list(document, "Entrypoint"), text_list(document, "Cmd"),
          std::string(json::string_at(document, {"config", "StopSignal"}))};
}

json::Value layer_descriptor(const BlobDescriptor& layer, bool compressed) {
  json::Object out;
  out["mediaType"] = compressed ? "application/vnd.oci.image.layer.v1.tar+gzip"
                                : "application/vnd.oci.image.layer.v1.tar";
  out["digest"] = layer.digest;
  out["size"] = layer.size;
  return out;
}

std::string manifest_text(const BlobDescriptor& config, json::Array layers) {
  json::Object described;
  described["mediaType"] = "application/vnd.oci.image.config.v1+json";
  described["digest"] = config.digest;
  described["size"] = config.size;
  json::Object manifest;
  manifest["schemaVersion"] = 2;
  manifest["mediaType"] = kManifestTypes[2];
  manifest["config"] = std::move(described);
  manifest["layers"] = std::move(layers);
  return json::serialize(manifest);
}

Result<BlobDescriptor> describe_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error("open " + path);
  Sha256 digest;
  BlobDescriptor out;
  char buffer[1 << 16];
  while (true) {
    ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read " + path);
    if (n == 0) break;
    digest.add({buffer, static_cast<std::size_t>(n)});
    out.size += n;
  }
  out.digest = "sha256:" + digest.finish_hex();
  return out;
}

}  // namespace hekla::agent
