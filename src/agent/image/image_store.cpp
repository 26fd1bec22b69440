#include "agent/image/image_store.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent/image/layer.h"
#include "agent/runtime/files.h"
#include "agent/runtime/instance.h"
#include "base/crypto.h"
#include "base/disk.h"
#include "base/log.h"
#include "json/codec.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
// Short, because the names of all layers must fit into one page of mount options.
constexpr std::size_t kChainDigits = 24;

Result<void> remove_if_there(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return fail(Code::internal, "remove " + path + ": " + error.message());
  return {};
}

// In containerd's words, which people search for.
Error pull_error(const ImageReference& image, const Error& error) {
  const std::string name = image.canonical();
  const bool denied = error.code == Code::unauthorized;
  std::string why = error.message;
  if (error.code == Code::not_found && why == "not found") why = name + ": not found";
  if (error.code == Code::not_found || denied || error.code == Code::unavailable)
    why = "failed to resolve reference \"" + name + "\": " + why;
  return Error{error.code, "rpc error: code = " +
                               std::string(error.code == Code::not_found ? "NotFound" : "Unknown") +
                               " desc = failed to pull and unpack image \"" + name + "\": " + why};
}

}  // namespace

std::string ImageStore::reference_file(const std::string& name) const {
  return directory_ + "/refs/" + sha256_hex(name) + ".json";
}

Result<void> ImageStore::prepare() {
  TRY(remove_if_there(directory_ + "/tmp"));
  for (const char* part : {"/refs", "/layers", "/tmp"}) TRY(make_directories(directory_ + part));
  return {};
}

Result<std::optional<StoredImage>> ImageStore::find(const ImageReference& image) const {
  std::error_code error;
  const std::string path = reference_file(image.canonical());
  if (!fs::exists(path, error)) return std::optional<StoredImage>();
  Result<std::string> text = read_file(path);
  Result<StoredImage> stored = text ? json::decode_text<StoredImage>(*text)
                                    : Result<StoredImage>(std::unexpected(text.error()));
  if (!stored) {
    // Torn: as good as none, and the next pull writes it anew.
    log_warn("agent", "an image's record cannot be read",
             {{"image", image.canonical()}, {"error", stored.error().message}});
    return std::optional<StoredImage>();
  }
  for (const std::string& layer : stored->layers)
    if (!fs::is_directory(layers_dir() + "/" + layer, error)) return std::optional<StoredImage>();
  return std::optional(std::move(*stored));
}

Result<StoredImage> ImageStore::pull(const ImageReference& image, const RegistryLogins& logins) {
  Result<StoredImage> pulled = pull_now(image, logins);
  if (!pulled) return std::unexpected(pull_error(image, pulled.error()));
  return pulled;
}

Result<StoredImage> ImageStore::pull_now(const ImageReference& image,
                                         const RegistryLogins& logins) {
  RegistrySession session(options_, image, logins.find(image.registry, image.repository));
  FetchedManifest fetched = TRY(session.manifest(image.wanted()));
  // A tag that has not moved costs one question.
  if (auto known = TRY(find(image)); known && known->digest == fetched.digest) return *known;
  StoredImage stored;
  stored.name = image.canonical();
  stored.digest = fetched.digest;
  stored.id = image.repository_name() + "@" + fetched.digest;
  json::Value document = TRY(json::parse(fetched.text));
  if (is_index(document)) {
    BlobDescriptor chosen = TRY(choose_manifest(document, this_platform()));
    document = TRY(json::parse(TRY(session.manifest(chosen.digest)).text));
  }
  ImageManifest manifest = TRY(read_manifest(document));
  const std::string config = directory_ + "/tmp/config";
  TRY(session.blob(manifest.config, config));
  stored.config = read_image_config(TRY(json::parse(TRY(read_file(config)))));
  std::string chain;
  for (const BlobDescriptor& layer : manifest.layers) {
    chain = sha256_hex(chain + " " + layer.digest);
    stored.layers.push_back(TRY(fetch_layer(session, layer, chain, stored.layers)));
    stored.size += layer.size;
  }
  TRY(write_file_atomically(reference_file(stored.name), json::serialize(json::encode(stored)),
                            0600));
  return stored;
}

Result<std::string> ImageStore::fetch_layer(RegistrySession& session, const BlobDescriptor& blob,
                                            const std::string& chain,
                                            const std::vector<std::string>& below) {
  const std::string name = chain.substr(0, kChainDigits);
  const std::string place = layers_dir() + "/" + name;
  std::error_code error;
  if (fs::is_directory(place, error)) return name;
  const std::string file = directory_ + "/tmp/blob", tree = directory_ + "/tmp/tree";
  TRY(session.blob(blob, file));
  TRY(remove_if_there(tree));
  TRY(make_directories(tree, 0755));
  if (::chmod(tree.c_str(), 0755) != 0) return errno_error("chmod " + tree);
  std::vector<std::string> lowers;
  for (auto layer = below.rbegin(); layer != below.rend(); ++layer)
    lowers.push_back(layers_dir() + "/" + *layer);
  if (Result<void> unpacked = unpack_layer(file, tree, lowers); !unpacked)
    return fail(unpacked.error().code, "failed to extract layer " + blob.digest + ": " +
                                           unpacked.error().message);
  TRY(remove_if_there(file));
  if (::rename(tree.c_str(), place.c_str()) != 0) return errno_error("rename " + tree);
  return name;
}

Result<void> ImageStore::mount_root(const StoredImage& image, const std::string& bundle) const {
  const std::string upper = bundle + "/upper", work = bundle + "/work", root = bundle + "/rootfs";
  TRY(make_directories(upper, 0755));
  TRY(make_directories(work));
  TRY(make_directories(root, 0755));
  struct stat top {};  // the root directory looks as in the topmost layer
  if (::stat((layers_dir() + "/" + image.layers.back()).c_str(), &top) != 0)
    return errno_error("look at the image's root");
  if (::chown(upper.c_str(), top.st_uid, top.st_gid) != 0 ||
      ::chmod(upper.c_str(), top.st_mode & 07777) != 0)
    return errno_error("chmod " + upper);
  std::string options = "lowerdir=";
  for (auto layer = image.layers.rbegin(); layer != image.layers.rend(); ++layer)
    options += (layer == image.layers.rbegin() ? "" : ":") + *layer;
  options += ",upperdir=" + upper + ",workdir=" + work;
  if (::chdir(layers_dir().c_str()) != 0) return errno_error("enter " + layers_dir());
  int mounted = ::mount("overlay", root.c_str(), "overlay", MS_NODEV, options.c_str());
  const int why = errno;
  if (::chdir("/") != 0) return errno_error("return to /");
  if (mounted != 0) return errno_error("mount the image " + image.name + " at " + root, why);
  return {};
}

}  // namespace hekla::agent
