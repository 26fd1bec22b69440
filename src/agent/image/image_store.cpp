#include "agent/image/image_store.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "agent/image/layer.h"
#include "agent/os/files.h"
#include "agent/os/instance.h"
#include "agent/os/user_namespace.h"
#include "agent/record/pod_record.h"
#include "agent/rootless/host_root.h"
#include "base/crypto.h"
#include "base/digest.h"
#include "base/disk.h"
#include "base/log.h"
#include "json/codec.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
// Short, because the names of all layers must fit into one page of mount options.
constexpr std::size_t kChainDigits = 24;
constexpr std::chrono::hours kPartialLife{24};
constexpr int kLockTries = 100;
constexpr std::chrono::milliseconds kLockPause{50};

Result<void> remove_if_there(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return fail(Code::internal, "remove " + path + ": " + error.message());
  return {};
}

std::string hex_of(const std::string& digest) { return digest.substr(digest.find(':') + 1); }

Result<FileDescriptor> open_lock(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return errno_error("open " + path);
  return file;
}

Result<FileDescriptor> take_lock(const std::string& path, int how) {
  FileDescriptor file = TRY(open_lock(path));
  while (::flock(file.get(), how) != 0)
    if (errno != EINTR) return errno_error("lock " + path);
  return file;
}

// The bytes on the disk of a file or tree.
std::int64_t disk_bytes(const fs::path& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return 0;
  std::int64_t sum = info.st_blocks * 512;
  if (!S_ISDIR(info.st_mode)) return sum;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(
           path, fs::directory_options::skip_permission_denied, error);
       entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (error) break;
    if (::lstat(entry->path().c_str(), &info) == 0 && (info.st_nlink == 1 || S_ISDIR(info.st_mode)))
      sum += info.st_blocks * 512;
  }
  return sum;
}

}  // namespace

std::string ImageStore::reference_file(const std::string& name) const {
  return options_.directory + "/refs/" + sha256_hex(name) + ".json";
}

std::string ImageStore::blob_path(const std::string& digest) const {
  return options_.directory + "/blobs/" + hex_of(digest);
}

Result<std::string> ImageStore::temporary(const std::string& name) const {
  // Of this process alone: another may be at work beside it.
  const std::string place = options_.directory + "/tmp/" + std::to_string(::getpid());
  TRY(make_directories(place));
  return place + "/" + name;
}

Result<void> ImageStore::prepare() {
  for (const char* part : {"/refs", "/blobs", "/layers", "/tmp"})
    TRY(make_directories(options_.directory + part));
  FileDescriptor lock = TRY(open_lock(options_.directory + "/lock"));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return {};  // somebody is at work
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(options_.directory + "/tmp", error))
    if (!fs::exists("/proc/" + entry.path().filename().string(), error))
      TRY(remove_if_there(entry.path()));
  return {};
}

Result<FileDescriptor> ImageStore::lock_for_change(bool wait) const {
  const std::string path = options_.directory + "/lock";
  FileDescriptor lock = TRY(open_lock(path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (!wait) return fail(Code::conflict, "an image is being pulled, built or removed");
  options_.say("waiting for another hekla that works on the images");
  const std::atomic<bool>* cancelled = options_.registries.cancelled;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (cancelled && *cancelled)
      return fail(Code::unavailable, "cancelled while waiting for the images");
    ::poll(nullptr, 0, static_cast<int>(kLockPause.count()));
  }
  return lock;
}

Result<FileDescriptor> ImageStore::hold_layers() const {
  return take_lock(options_.directory + "/mounts.lock", LOCK_SH);
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

Result<std::vector<StoredImage>> ImageStore::list() const {
  std::vector<StoredImage> out;
  std::error_code error;
  fs::directory_iterator entries(options_.directory + "/refs", error);
  if (error == std::errc::no_such_file_or_directory) return out;
  if (error)
    return fail(Code::internal, "read " + options_.directory + "/refs: " + error.message());
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().extension() != ".json") continue;
    Result<std::string> text = read_file(entry.path());
    if (!text) continue;  // gone meanwhile
    Result<StoredImage> image = json::decode_text<StoredImage>(*text);
    if (!image) {
      log_warn("agent", "an image's record cannot be read",
               {{"path", entry.path().string()}, {"error", image.error().message}});
      continue;
    }
    struct stat info{};
    if (::stat(entry.path().c_str(), &info) == 0)
      image->last_used =
          WallTime(std::chrono::seconds(info.st_mtim.tv_sec) + Nanos(info.st_mtim.tv_nsec));
    out.push_back(std::move(*image));
  }
  std::ranges::sort(out, {}, &StoredImage::name);
  return out;
}

Result<BlobDescriptor> ImageStore::keep_text(const std::string& text) {
  BlobDescriptor blob{"sha256:" + sha256_hex(text), static_cast<std::int64_t>(text.size())};
  TRY(write_file_atomically(blob_path(blob.digest), text, 0600));
  return blob;
}

Result<BlobDescriptor> ImageStore::keep_file(const std::string& path) {
  BlobDescriptor blob = TRY(describe_file(path));
  if (::rename(path.c_str(), blob_path(blob.digest).c_str()) != 0)
    return errno_error("rename " + path);
  return blob;
}

Result<json::Value> ImageStore::config_of(const StoredImage& image) const {
  auto missing = [&](const Error& error) {
    return fail(Code::not_found, "the image " + image.name +
                                     " is not kept as it came; pull it again: " + error.message);
  };
  if (image.manifest.empty()) return missing(Error{Code::not_found, "no manifest"});
  Result<std::string> manifest = read_file(blob_path(image.manifest));
  if (!manifest) return missing(manifest.error());
  json::Value document = TRY(json::parse(*manifest));
  Result<std::string> config =
      read_file(blob_path(std::string(json::string_at(document, {"config", "digest"}))));
  if (!config) return missing(config.error());
  return json::parse(*config);
}

Result<StoredImage> ImageStore::assemble(const ImageReference& name, const std::string& digest,
                                         const std::string& manifest_text, bool host,
                                         const std::map<std::string, std::string>& trees) {
  json::Value document = TRY(json::parse(manifest_text));
  ImageManifest manifest = TRY(read_manifest(document, host));
  StoredImage stored;
  stored.name = name.canonical();
  stored.digest = digest;
  stored.id = name.repository_name() + "@" + digest;
  stored.host = host;
  stored.added_ns = to_ns(options_.clock->wall());
  stored.manifest = TRY(keep_text(manifest_text)).digest;
  const json::Value config = TRY(json::parse(TRY(read_file(blob_path(manifest.config.digest)))));
  const std::vector<std::string> diff_ids = TRY(read_diff_ids(config, manifest.layers.size()));
  stored.config = read_image_config(config);
  stored.blobs = {stored.manifest, manifest.config.digest};
  std::string chain = host ? "host" : "";
  for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
    const BlobDescriptor& layer = manifest.layers[i];
    chain = sha256_hex(chain + " " + layer.digest);
    const std::string place = layers_dir() + "/" + chain.substr(0, kChainDigits);
    if (auto tree = trees.find(layer.digest);
        tree != trees.end() && ::rename(tree->second.c_str(), place.c_str()) != 0)
      return errno_error("rename " + tree->second);
    stored.layers.push_back(TRY(unpack(layer, diff_ids[i], chain, stored.layers)));
    stored.size += layer.size;
    // Upon this machine an image is never sent on: its layers are kept unpacked alone.
    if (host)
      ::unlink(blob_path(layer.digest).c_str());
    else
      stored.blobs.push_back(layer.digest);
  }
  TRY(write_record(stored));
  return stored;
}

// An image that loses its name to another keeps the one that its digest is, as long as pods run it.
Result<void> ImageStore::write_record(const StoredImage& image) {
  const std::string path = reference_file(image.name);
  if (Result<std::string> text = read_file(path))
    if (Result<StoredImage> old = json::decode_text<StoredImage>(*text);
        old && old->digest != image.digest && old->id != old->name) {
      old->name = old->id;
      TRY(write_file_atomically(reference_file(old->name), json::serialize(json::encode(*old)),
                                0600));
    }
  return write_file_atomically(path, json::serialize(json::encode(image)), 0600);
}

// An unpacked layer has been checked against the digest that came with it then.
Result<std::string> ImageStore::unpack(const BlobDescriptor& blob, const std::string& diff_id,
                                       const std::string& chain,
                                       const std::vector<std::string>& below) {
  const std::string name = chain.substr(0, kChainDigits);
  const std::string place = layers_dir() + "/" + name;
  std::error_code error;
  if (fs::is_directory(place, error)) return name;
  options_.say("unpacking " + blob.digest);
  const std::string tree = TRY(temporary("tree"));
  TRY(remove_if_there(tree));
  TRY(make_directories(tree, 0755));
  if (::chmod(tree.c_str(), 0755) != 0) return errno_error("chmod " + tree);
  std::vector<std::string> lowers;
  for (auto layer = below.rbegin(); layer != below.rend(); ++layer)
    lowers.push_back(layers_dir() + "/" + *layer);
  Result<std::string> unpacked =
      unpack_layer(blob_path(blob.digest), tree, lowers, options_.registries.cancelled);
  if (unpacked && *unpacked != diff_id)
    unpacked = fail(Code::invalid, "wrong diff id calculated on extraction \"" + *unpacked + "\"");
  if (!unpacked) {
    TRY(remove_if_there(tree));
    return fail(unpacked.error().code,
                "failed to extract layer " + blob.digest + ": " + unpacked.error().message);
  }
  if (::rename(tree.c_str(), place.c_str()) != 0) return errno_error("rename " + tree);
  return name;
}

Result<StoredImage> ImageStore::tag(const StoredImage& image, const ImageReference& name) {
  FileDescriptor lock = TRY(lock_for_change());
  StoredImage other = image;
  other.name = name.canonical();
  other.id = name.repository_name() + "@" + image.digest;
  TRY(write_record(other));
  return other;
}

Result<StoredImage> ImageStore::add(const ImageReference& name,
                                    const std::optional<StoredImage>& base, bool host,
                                    json::Value config, const std::vector<NewLayer>& layers) {
  FileDescriptor lock = TRY(lock_for_change());
  json::Array descriptors;
  if (base) {
    json::Value below = TRY(json::parse(TRY(read_file(blob_path(base->manifest)))));
    if (const json::Array* kept = json::array_at(below, {"layers"})) descriptors = *kept;
  }
  json::Value& diffs = json::at_path(config, {"rootfs", "diff_ids"});
  if (!diffs.is_array()) diffs = json::Array();
  json::at_path(config, {"rootfs", "type"}) = "layers";
  std::map<std::string, std::string> trees;
  for (const NewLayer& layer : layers) {
    CHECK(layer.tree.empty() || host, "a tree becomes a layer only upon this machine");
    const std::string made = name.canonical() + " " + std::to_string(to_ns(options_.clock->wall()));
    BlobDescriptor blob =
        layer.tree.empty() ? TRY(keep_file(layer.file))
                           : BlobDescriptor{"sha256:" + sha256_hex(made), disk_bytes(layer.tree)};
    if (!layer.tree.empty()) trees[blob.digest] = layer.tree;
    descriptors.emplace_back(layer_descriptor(blob));
    json::at_path(config, {"rootfs", "diff_ids"})
        .as_array()
        .emplace_back(layer.tree.empty() ? layer.diff_digest : blob.digest);
  }
  const std::string manifest =
      manifest_text(TRY(keep_text(json::serialize(config))), std::move(descriptors));
  return assemble(name, "sha256:" + sha256_hex(manifest), manifest, host, trees);
}

Result<Removed> ImageStore::remove(const std::vector<std::string>& names,
                                   const std::function<Result<std::set<std::string>>()>& in_use,
                                   bool wait) {
  FileDescriptor lock = TRY(lock_for_change(wait));
  FileDescriptor mounts = TRY(open_lock(options_.directory + "/mounts.lock"));
  for (int i = 0; ::flock(mounts.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (i == kLockTries)
      return fail(Code::conflict, "an image is being built: its layers cannot be taken away now");
    ::poll(nullptr, 0, static_cast<int>(kLockPause.count()));
  }
  // Read under the lock: a container's record is written before its image is mounted.
  const std::set<std::string> used = TRY(in_use());
  std::vector<StoredImage> all = TRY(list());
  Removed removed;
  for (const std::string& name : names) {
    auto found = std::ranges::find(all, name, &StoredImage::name);
    if (found == all.end()) return fail(Code::not_found, "no image named " + name);
    if (used.contains(found->id))
      return fail(Code::conflict, "the image " + name + " is used by a pod");
    if (::unlink(reference_file(name).c_str()) != 0 && errno != ENOENT)
      return errno_error("remove the record of " + name);
    removed.names.push_back(name);
  }
  removed.bytes = TRY(sweep());
  return removed;
}

Result<Removed> ImageStore::prune(const std::function<Result<std::set<std::string>>()>& in_use,
                                  WallTime before, bool wait) {
  const std::set<std::string> used = TRY(in_use());
  std::vector<std::string> names;
  for (const StoredImage& image : TRY(list()))
    if (!used.contains(image.id) && image.last_used < before) names.push_back(image.name);
  return remove(names, in_use, wait);
}

Result<std::int64_t> ImageStore::sweep() {
  std::set<std::string> needed;
  for (const StoredImage& image : TRY(list())) {
    needed.insert(image.layers.begin(), image.layers.end());
    for (const std::string& digest : image.blobs) needed.insert(hex_of(digest));
  }
  std::int64_t bytes = 0;
  std::error_code error;
  const WallTime now = options_.clock->wall();
  for (const char* part : {"/blobs", "/layers"})
    for (const fs::directory_entry& entry :
         fs::directory_iterator(options_.directory + part, error)) {
      const std::string name = entry.path().filename();
      if (needed.contains(name)) continue;
      struct stat info{};
      // Half a download may still be wanted.
      if (name.ends_with(".partial") && ::stat(entry.path().c_str(), &info) == 0 &&
          now - WallTime(std::chrono::seconds(info.st_mtim.tv_sec)) < kPartialLife)
        continue;
      bytes += disk_bytes(entry.path());
      TRY(remove_if_there(entry.path()));
    }
  return bytes;
}

Result<void> ImageStore::mount_root(const StoredImage& image, const std::string& bundle,
                                    const std::string& base) const {
  const std::string upper = bundle + "/upper", work = bundle + "/work", root = bundle + "/rootfs";
  TRY(make_directories(upper, 0755));
  TRY(make_directories(work));
  TRY(make_directories(root, 0755));
  FileDescriptor held = TRY(hold_layers());
  struct stat top{};  // the root directory looks as in the topmost layer
  const std::string topmost = image.host ? base : layers_dir() + "/" + image.layers.back();
  if (::stat(topmost.c_str(), &top) != 0) return errno_error("look at the image's root");
  if (change_owner(AT_FDCWD, upper.c_str(), top.st_uid, top.st_gid) != 0 ||
      ::chmod(upper.c_str(), top.st_mode & 07777) != 0)
    return errno_error("chmod " + upper);
  if (image.host && is_rootless()) {
    HostRoot whole{bundle, {}, fs::path(options_.directory).parent_path()};
    for (auto layer = image.layers.rbegin(); layer != image.layers.rend(); ++layer)
      whole.layers.push_back(layers_dir() + "/" + *layer);
    whole.layers.push_back(base);
    return mount_host_root(whole);
  }
  std::string lowers;
  for (auto layer = image.layers.rbegin(); layer != image.layers.rend(); ++layer)
    lowers += (lowers.empty() ? "" : ":") + *layer;
  if (image.host) lowers += (lowers.empty() ? "" : ":") + base;
  // Directories are copied when they are moved, and files whole: a layer can be made of what lies
  // on top.
  std::string options = "lowerdir=" + lowers + ",upperdir=" + upper + ",workdir=" + work +
                        ",redirect_dir=nofollow,metacopy=off,index=off" + overlay_options();
  if (::chdir(layers_dir().c_str()) != 0) return errno_error("enter " + layers_dir());
  int mounted = ::mount("overlay", root.c_str(), "overlay", MS_NODEV, options.c_str());
  const int why = errno;
  if (::chdir("/") != 0) return errno_error("return to /");
  if (mounted != 0) return errno_error("mount the image " + image.name + " at " + root, why);
  // The time of the record is that of its last use.
  ::utimensat(AT_FDCWD, reference_file(image.name).c_str(), nullptr, 0);
  return {};
}

Result<std::set<std::string>> images_of_pods(const std::string& directory) {
  std::set<std::string> out;
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error == std::errc::no_such_file_or_directory) return out;
  if (error) return fail(Code::internal, "read " + directory + ": " + error.message());
  for (const fs::directory_entry& entry : entries) {
    Result<std::string> text = read_file(entry.path().string() + "/state.json");
    if (!text) continue;
    Result<PodRecord> record = json::decode_text<PodRecord>(*text);
    if (!record) continue;
    for (const ContainerRecord& container : record->containers)
      for (const auto& run : {container.current, container.previous})
        if (run && !run->image_id.empty() && (record->outcome.empty() || !run->removed))
          out.insert(run->image_id);
  }
  return out;
}

}  // namespace hekla::agent
