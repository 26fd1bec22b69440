// Images from and into files: archives of docker save, OCI layouts, root file systems.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "agent/image/archive_file.h"
#include "agent/image/image_store.h"
#include "agent/os/instance.h"
#include "base/crypto.h"
#include "base/disk.h"
#include "json/parse.h"

namespace hekla::agent {

namespace fs = std::filesystem;

// One import: the files of the archive by name, and the names its images shall have.
class ArchiveImport {
 public:
  ArchiveImport(ImageStore& store, const std::optional<ImageReference>& name)
      : store_(store), name_(name) {}

  Result<std::vector<StoredImage>> run(const std::string& path);

 private:
  Result<void> open_archive(const std::string& path);
  Result<void> open_directory(const std::string& path);
  Result<std::string> text_of(const std::string& name) const;
  // A copy that may be moved into the store.
  Result<std::string> copy_of(const std::string& name);
  Result<std::vector<StoredImage>> import_layout();
  Result<StoredImage> import_entry(const json::Value& entry, bool alone);
  Result<std::vector<StoredImage>> import_docker();
  Result<std::string> docker_manifest(const json::Value& image);
  Result<std::vector<StoredImage>> import_root(const std::string& path);
  Result<void> take_blob(const BlobDescriptor& blob);
  Result<ImageReference> name_of(const json::Value& entry, bool alone) const;

  ImageStore& store_;
  std::optional<ImageReference> name_;
  std::map<std::string, std::string> files_;
  std::set<std::string> layout_;
  bool owned_ = false;  // the files are ours to move
};

namespace {

constexpr const char* kContainerdName = "io.containerd.image.name";
constexpr const char* kRefName = "org.opencontainers.image.ref.name";

std::string blob_name(const std::string& digest) {
  return "blobs/sha256/" + digest.substr(digest.find(':') + 1);
}

bool is_compressed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof magic);
  const std::string_view start(magic, 4);
  return start.starts_with("\x1f\x8b") || start == "\x28\xb5\x2f\xfd";
}

Result<std::string> from_standard_input(const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  char buffer[1 << 16];
  while (true) {
    ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read standard input");
    if (n == 0) break;
    out.write(buffer, n);
  }
  out.close();
  if (!out) return fail(Code::internal, "write " + path);
  return path;
}

}  // namespace

Result<void> ArchiveImport::open_archive(const std::string& path) {
  const std::string place = TRY(store_.temporary("import"));
  TRY(make_directories(place));
  files_ = TRY(extract_files(path, place));
  owned_ = true;
  return {};
}

Result<void> ArchiveImport::open_directory(const std::string& path) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, error))
    if (entry.is_regular_file(error))
      files_[entry.path().lexically_relative(path).string()] = entry.path();
  if (!files_.contains("index.json"))
    return fail(Code::invalid, path + " is no OCI layout: it has no index.json");
  return {};
}

Result<std::string> ArchiveImport::text_of(const std::string& name) const {
  auto found = files_.find(name);
  if (found == files_.end()) return fail(Code::invalid, "the archive has no " + name);
  return read_file(found->second);
}

Result<std::string> ArchiveImport::copy_of(const std::string& name) {
  auto found = files_.find(name);
  if (found == files_.end()) return fail(Code::invalid, "the archive has no " + name);
  const std::string copy = TRY(store_.temporary("blob"));
  std::error_code error;
  // The same file may be two layers: the original stays.
  if (owned_ && (fs::remove(copy, error), fs::create_hard_link(found->second, copy, error), !error))
    return copy;
  fs::copy_file(found->second, copy, fs::copy_options::overwrite_existing, error);
  if (error) return fail(Code::internal, "copy " + found->second + ": " + error.message());
  return copy;
}

Result<void> ArchiveImport::take_blob(const BlobDescriptor& blob) {
  std::error_code error;
  if (fs::exists(store_.blob_path(blob.digest), error)) return {};
  const std::string copy = TRY(copy_of(blob_name(blob.digest)));
  BlobDescriptor found = TRY(describe_file(copy));
  if (found.digest != blob.digest || found.size != blob.size)
    return fail(Code::invalid, blob_name(blob.digest) + " has the digest " + found.digest);
  TRY(store_.keep_file(copy));
  return {};
}

// "latest" alone, as some tools write it, is no name of an image.
Result<ImageReference> ArchiveImport::name_of(const json::Value& entry, bool alone) const {
  if (name_ && !alone)
    return fail(Code::bad_request,
                "the archive has several images: they keep their names, none can be given");
  if (name_) return *name_;
  for (const char* key : {kContainerdName, kRefName}) {
    std::string_view text = json::string_at(entry, {"annotations", key});
    if (text.find_first_of("/:") != std::string_view::npos) return parse_reference(text);
  }
  return fail(Code::bad_request, "the archive does not name its image: give it one");
}

Result<StoredImage> ArchiveImport::import_entry(const json::Value& entry, bool alone) {
  ImageReference name = TRY(name_of(entry, alone));
  std::string digest(json::string_at(entry, {"digest"}));
  const std::string first = digest;
  std::string text;
  json::Value document;
  for (int depth = 0;; ++depth) {
    if (!is_sha256_digest(digest) || depth > 2)
      return fail(Code::invalid, "index.json: invalid digest \"" + digest + "\"");
    text = TRY(text_of(blob_name(digest)));
    if ("sha256:" + sha256_hex(text) != digest)
      return fail(Code::invalid, blob_name(digest) + " has another digest");
    document = TRY(json::parse(text));
    if (!is_index(document)) break;
    digest = TRY(choose_manifest(document, this_platform())).digest;
  }
  ImageManifest manifest = TRY(read_manifest(document));
  TRY(take_blob(manifest.config));
  for (const BlobDescriptor& layer : manifest.layers) TRY(take_blob(layer));
  return store_.assemble(name, first, text, false);
}

Result<std::vector<StoredImage>> ArchiveImport::import_layout() {
  json::Value index = TRY(json::parse(TRY(text_of("index.json"))));
  const json::Array* entries = json::array_at(index, {"manifests"});
  if (!entries || entries->empty()) return fail(Code::invalid, "index.json names no images");
  std::vector<StoredImage> out;
  for (const json::Value& entry : *entries)
    out.push_back(TRY(import_entry(entry, entries->size() == 1)));
  return out;
}

Result<std::string> ArchiveImport::docker_manifest(const json::Value& image) {
  const std::string config = TRY(text_of(std::string(json::string_at(image, {"Config"}))));
  json::Array layers;
  if (const json::Array* names = json::array_at(image, {"Layers"}))
    for (const json::Value& name : *names) {
      if (!name.is_string()) return fail(Code::invalid, "manifest.json: a layer has no name");
      const std::string copy = TRY(copy_of(std::string(json::sv(name.get_string()))));
      const bool compressed = is_compressed(copy);
      layers.emplace_back(layer_descriptor(TRY(store_.keep_file(copy)), compressed));
    }
  return manifest_text(TRY(store_.keep_text(config)), std::move(layers));
}

Result<std::vector<StoredImage>> ArchiveImport::import_docker() {
  json::Value list = TRY(json::parse(TRY(text_of("manifest.json"))));
  if (!list.is_array() || list.get_array().empty())
    return fail(Code::invalid, "manifest.json names no images");
  const json::Array& images = list.get_array();
  if (name_ && images.size() > 1)
    return fail(Code::bad_request,
                "the archive has several images: they keep their names, none can be given");
  std::vector<StoredImage> out;
  for (const json::Value& image : images) {
    const std::string text = TRY(docker_manifest(image));
    std::vector<ImageReference> names;
    if (name_) {
      names.push_back(*name_);
    } else if (const json::Array* tags = json::array_at(image, {"RepoTags"})) {
      for (const json::Value& tag : *tags)
        if (tag.is_string()) names.push_back(TRY(parse_reference(json::sv(tag.get_string()))));
    }
    if (names.empty())
      return fail(Code::bad_request, "the archive does not name its image: give it one");
    for (const ImageReference& name : names)
      out.push_back(TRY(store_.assemble(name, "sha256:" + sha256_hex(text), text, false)));
  }
  return out;
}

Result<std::vector<StoredImage>> ArchiveImport::import_root(const std::string& path) {
  if (!name_)
    return fail(Code::bad_request,
                path + " holds a root file system: give the image a name (hekla image import " +
                    path + " NAME)");
  const std::string copy = TRY(store_.temporary("blob"));
  std::error_code error;
  fs::copy_file(path, copy, fs::copy_options::overwrite_existing, error);
  if (error) return fail(Code::internal, "copy " + path + ": " + error.message());
  const bool compressed = is_compressed(copy);
  const std::string diff = TRY(uncompressed_digest(copy));
  json::Object rootfs;
  rootfs["type"] = "layers";
  rootfs["diff_ids"] = json::Array{json::Value(diff)};
  const Platform platform = this_platform();
  json::Object config;
  config["architecture"] = platform.architecture;
  config["os"] = platform.os;
  config["config"] = json::Object();
  config["rootfs"] = std::move(rootfs);
  json::Array layers;
  layers.emplace_back(layer_descriptor(TRY(store_.keep_file(copy)), compressed));
  const std::string text =
      manifest_text(TRY(store_.keep_text(json::serialize(config))), std::move(layers));
  return std::vector{TRY(store_.assemble(*name_, "sha256:" + sha256_hex(text), text, false))};
}

Result<std::vector<StoredImage>> ArchiveImport::run(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    TRY(open_directory(path));
    return import_layout();
  }
  const std::set<std::string> names = TRY(archive_names(path));
  const bool layout = names.contains("index.json"), docker = names.contains("manifest.json");
  if (!layout && !docker) return import_root(path);
  TRY(open_archive(path));
  if (!layout) return import_docker();
  Result<std::vector<StoredImage>> images = import_layout();
  // docker save writes both, and names in the older one alone.
  if (!images && images.error().code == Code::bad_request && docker && !name_)
    return import_docker();
  return images;
}

Result<std::vector<StoredImage>> ImageStore::import(const std::string& path,
                                                    const std::optional<ImageReference>& name) {
  std::string source = path;
  if (path == "-") source = TRY(from_standard_input(TRY(temporary("stdin"))));
  std::error_code error;
  if (!fs::exists(source, error)) return fail(Code::not_found, path + " does not exist");
  FileDescriptor lock = TRY(lock_for_change());
  Result<std::vector<StoredImage>> images = ArchiveImport(*this, name).run(source);
  fs::remove_all(TRY(temporary("import")), error);
  if (path == "-") fs::remove(source, error);
  if (!images) return fail(images.error().code, "import " + path + ": " + images.error().message);
  return images;
}

Result<void> ImageStore::save(const std::vector<StoredImage>& images,
                              const std::string& path) const {
  json::Array entries, docker;
  std::set<std::string> blobs;
  for (const StoredImage& image : images) {
    if (image.host)
      return fail(Code::invalid, "the image " + image.name +
                                     " lies upon this machine's own file system, which cannot be "
                                     "saved: build it upon an image from a registry");
    TRY(config_of(image));  // that it is here as it came
    const std::string text = TRY(read_file(blob_path(image.manifest)));
    json::Value document = TRY(json::parse(text));
    ImageManifest manifest = TRY(read_manifest(document));
    json::Object annotations;
    annotations[kContainerdName] = image.name;
    annotations[kRefName] = image.name;
    std::string type(json::string_at(document, {"mediaType"}));
    json::Object entry;
    entry["mediaType"] = type.empty() ? kManifestTypes[2] : type;
    entry["digest"] = image.manifest;
    entry["size"] = text.size();
    entry["annotations"] = std::move(annotations);
    entries.emplace_back(std::move(entry));
    json::Array layers;
    for (const BlobDescriptor& layer : manifest.layers)
      layers.emplace_back(blob_name(layer.digest));
    json::Object old;
    old["Config"] = blob_name(manifest.config.digest);
    old["RepoTags"] = json::Array{json::Value(image.name)};
    old["Layers"] = std::move(layers);
    docker.emplace_back(std::move(old));
    blobs.insert(image.blobs.begin(), image.blobs.end());
  }
  json::Object index;
  index["schemaVersion"] = 2;
  index["mediaType"] = kManifestTypes[0];
  index["manifests"] = std::move(entries);
  ArchiveWriter out;
  TRY(out.open(path));
  TRY(out.add_text("oci-layout", R"({"imageLayoutVersion":"1.0.0"})"));
  TRY(out.add_text("index.json", json::serialize(index)));
  TRY(out.add_text("manifest.json", json::serialize(docker)));
  for (const std::string& digest : blobs) TRY(out.add_file(blob_name(digest), blob_path(digest)));
  return out.close();
}

}  // namespace hekla::agent
