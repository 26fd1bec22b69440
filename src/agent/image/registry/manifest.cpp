#include "agent/image/registry/manifest.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <optional>

#include "agent/image/registry/reference.h"
#include "agent/os/file_descriptor.h"
#include "base/digest.h"

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
  if (!layers || (layers->empty() && !may_be_empty))
    return fail(Code::invalid, "the manifest has no layers");
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
          text_list(document, "Env"),
          text_list(document, "Entrypoint"),
          text_list(document, "Cmd"),
          std::string(json::string_at(document, {"config", "StopSignal"}))};
}

int signal_number(std::string_view text) {
  auto number_in = [](std::string_view digits) -> std::optional<int> {
    int number = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return number;
  };
  std::string name(text);
  for (char& c : name) c = static_cast<char>(::toupper(static_cast<unsigned char>(c)));
  std::string_view rest = name;
  if (rest.starts_with("SIG")) rest.remove_prefix(3);
  std::optional<int> number = number_in(rest);
  if (rest.starts_with("RTMIN")) {
    rest.remove_prefix(std::string_view("RTMIN").size());
    std::optional<int> beyond = rest.starts_with('+') ? number_in(rest.substr(1)) : std::nullopt;
    if (beyond || rest.empty()) number = SIGRTMIN + beyond.value_or(0);
  }
  for (int known = 1; known < SIGRTMIN && !number; ++known)
    if (const char* short_name = ::sigabbrev_np(known); short_name && rest == short_name)
      number = known;
  return number && *number > 0 && *number <= SIGRTMAX ? *number : SIGTERM;
}

Result<std::vector<std::string>> read_diff_ids(const json::Value& document, std::size_t layers) {
  std::vector<std::string> out;
  if (const json::Array* digests = json::array_at(document, {"rootfs", "diff_ids"}))
    for (const json::Value& digest : *digests)
      out.emplace_back(digest.is_string() ? json::sv(digest.get_string()) : std::string_view());
  if (out.size() != layers)
    return fail(Code::invalid, "mismatched image rootfs and manifest layers");
  return out;
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
  Digest digest;
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
