// Images from and to registries.
#include <unistd.h>

#include <filesystem>

#include "agent/image/image_store.h"
#include "base/disk.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

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

Result<StoredImage> ImageStore::pull(const ImageReference& image, const RegistryLogins& logins) {
  Result<StoredImage> pulled = pull_now(image, logins);
  if (!pulled) return std::unexpected(pull_error(image, pulled.error()));
  return pulled;
}

Result<StoredImage> ImageStore::pull_now(const ImageReference& image,
                                         const RegistryLogins& logins) {
  RegistrySession session(options_.registries, image,
                          logins.find(image.registry, image.repository));
  options_.say("resolving " + image.canonical());
  FetchedManifest fetched = TRY(session.manifest(image.wanted()));
  // A tag that has not moved costs one question.
  if (auto known = TRY(find(image));
      known && known->digest == fetched.digest && !known->manifest.empty())
    return *known;
  FileDescriptor lock = TRY(lock_for_change());
  std::string text = fetched.text;
  json::Value document = TRY(json::parse(text));
  if (is_index(document)) {
    BlobDescriptor chosen = TRY(choose_manifest(document, this_platform()));
    text = TRY(session.manifest(chosen.digest)).text;
    document = TRY(json::parse(text));
  }
  ImageManifest manifest = TRY(read_manifest(document));
  TRY(fetch_blob(session, manifest.config, "configuration"));
  for (const BlobDescriptor& layer : manifest.layers) TRY(fetch_blob(session, layer, "layer"));
  return assemble(image, fetched.digest, text, false);
}

Result<void> ImageStore::fetch_blob(RegistrySession& session, const BlobDescriptor& blob,
                                    const std::string& what) {
  std::error_code error;
  const std::string path = blob_path(blob.digest);
  if (std::filesystem::exists(path, error)) return {};
  options_.say("fetching " + what + " " + blob.digest + " (" + std::to_string(blob.size) +
               " bytes)");
  return session.blob(blob, path);
}

Result<void> ImageStore::push(const StoredImage& image, const ImageReference& target,
                              const RegistryLogins& logins) const {
  if (image.host)
    return fail(Code::invalid, "the image " + image.name +
                                   " lies upon this machine's own file system, which cannot be "
                                   "pushed: build it upon an image from a registry");
  if (image.manifest.empty())
    return fail(Code::not_found,
                "the image " + image.name + " is not kept as it came: pull it again");
  const std::string text = TRY(read_file(blob_path(image.manifest)));
  const json::Value document = TRY(json::parse(text));
  ImageManifest manifest = TRY(read_manifest(document));
  RegistrySession session(options_.registries, target,
                          logins.find(target.registry, target.repository));
  ImageReference own = TRY(parse_reference(image.name));
  const std::string other =
      own.registry == target.registry && own.repository != target.repository ? own.repository : "";
  std::vector<BlobDescriptor> blobs = manifest.layers;
  blobs.push_back(manifest.config);
  auto failed = [&](const Error& error) {
    return fail(error.code, "failed to push " + target.canonical() + ": " + error.message);
  };
  for (const BlobDescriptor& blob : blobs) {
    options_.say("pushing " + blob.digest + " (" + std::to_string(blob.size) + " bytes)");
    if (Result<void> sent = session.push_blob(blob, blob_path(blob.digest), other); !sent)
      return failed(sent.error());
  }
  std::string type(json::string_at(document, {"mediaType"}));
  if (Result<void> sent = session.push_manifest(text, type.empty() ? kManifestTypes[2] : type);
      !sent)
    return failed(sent.error());
  return {};
}

}  // namespace hekla::agent
