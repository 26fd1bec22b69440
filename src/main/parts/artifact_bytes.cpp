#include "main/parts/artifact_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <optional>

#include "base/bytes.h"

namespace hekla {
namespace {

using objects::Catalog, objects::Held, objects::ObjectInfo, objects::ObjectStore, objects::Outcome,
    objects::Piece, objects::Spool;

constexpr std::size_t kBlock = 1 << 20;
constexpr std::size_t kKeyMax = 1024;
constexpr int kKeysAtATime = 1000;

struct Opened {
  ObjectInfo object;
  std::vector<std::shared_ptr<const Held>> held;
};

std::unexpected<Error> failed(const std::string& doing) {
  return fail(Code::unavailable, doing + ": " + std::strerror(errno));
}

Result<void> check(const std::string& bucket, const std::string& key) {
  if (!objects::is_bucket_name(bucket))
    return fail(Code::bad_request, "a bucket cannot be named \"" + bucket + "\"");
  if (key.empty() || key.size() > kKeyMax)
    return fail(Code::bad_request, "an object's key has 1 to 1024 bytes");
  return {};
}

class ArtifactBytes final : public pipelines::ObjectBytes {
 public:
  explicit ArtifactBytes(ObjectStore& store) : store_(store) {}

  Result<std::string> scratch_file() override { return store_.content().incoming_path(); }

  Result<void> put(const std::string& bucket, const std::string& key,
                   const std::string& scratch) override {
    TRY(check(bucket, key));
    std::shared_ptr<Spool> spool = store_.content().spool();
    TRY(spool->adopt(scratch));
    TRY(spool->sync());
    ObjectInfo object{.key = key,
                      .etag = hex_encode(spool->md5()),
                      .bytes = spool->bytes(),
                      .modified = store_.clock().wall(),
                      .metadata = {},
                      .pieces = {spool->piece()}};
    TRY(ask<bool>([&](Catalog& catalog) -> Result<bool> {
      TRY(catalog.make_bucket(bucket, object.modified));
      TRY(catalog.keep(*spool));
      TRY(catalog.put(bucket, object));
      return true;
    }));
    store_.sweep();
    return {};
  }

  Result<pipelines::OpenObject> open(const std::string& bucket, const std::string& key) override {
    const Opened opened = TRY(ask<Opened>([&](Catalog& catalog) -> Result<Opened> {
      std::optional<ObjectInfo> object = TRY(catalog.find(bucket, key));
      if (!object) return fail(Code::not_found, "there is no object " + bucket + "/" + key);
      Opened made{std::move(*object), {}};
      for (const Piece& piece : made.object.pieces) made.held.push_back(TRY(catalog.hold(piece)));
      return made;
    }));
    // A file of its own where the bytes do not lie in one: in the database, in parts.
    if (opened.held.size() == 1)
      if (const int file = opened.held[0]->duplicate(); file >= 0)
        return pipelines::OpenObject{file, opened.object.bytes};
    const int file =
        ::open(store_.content().incoming().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return failed("open " + bucket + "/" + key);
    if (Result<void> copied = copy(opened, file); !copied) {
      ::close(file);
      return std::unexpected(copied.error());
    }
    ::lseek(file, 0, SEEK_SET);
    return pipelines::OpenObject{file, opened.object.bytes};
  }

  Result<std::vector<std::string>> list(const std::string& bucket, const std::string& prefix,
                                        std::size_t limit) override {
    std::vector<std::string> keys;
    while (keys.size() < limit) {
      // The smallest key behind the last one.
      const std::string from = keys.empty() ? prefix : keys.back() + '\0';
      const int most = static_cast<int>(std::min<std::size_t>(kKeysAtATime, limit - keys.size()));
      const std::vector<ObjectInfo> page = TRY(ask<std::vector<ObjectInfo>>(
          [&](Catalog& catalog) { return catalog.range(bucket, prefix, from, most); }));
      for (const ObjectInfo& object : page) keys.push_back(object.key);
      if (page.size() < static_cast<std::size_t>(most)) break;
    }
    return keys;
  }

  Result<void> remove(const std::string& bucket, const std::string& key) override {
    TRY(ask<bool>([&](Catalog& catalog) { return catalog.remove(bucket, key); }));
    store_.sweep();
    return {};
  }

 private:
  static Result<void> copy(const Opened& opened, int file) {
    for (std::size_t i = 0; i < opened.held.size(); ++i) {
      const std::uint64_t bytes = opened.object.pieces[i].bytes;
      for (std::uint64_t at = 0; at < bytes; at += kBlock) {
        std::string block;
        TRY(opened.held[i]->read(at, std::min<std::uint64_t>(kBlock, bytes - at), block));
        if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size()))
          return failed("copy an object");
      }
    }
    return {};
  }

  // Waits for a job of the catalogue, which has a thread of its own.
  template <class T, class Job>
  Result<T> ask(Job job) {
    std::promise<Result<T>> answered;
    std::future<Result<T>> answer = answered.get_future();
    std::optional<Error> why;  // the job's own words
    store_.ask<T>(
        [&](Catalog& catalog) -> Result<Outcome<T>> {
          Result<T> made = job(catalog);
          if (made) return Outcome<T>(std::move(*made));
          why = made.error();
          return std::unexpected(made.error());
        },
        [&](Outcome<T> outcome) {
          if (outcome) return answered.set_value(std::move(*outcome));
          answered.set_value(std::unexpected(why.value_or(
              Error{Code::unavailable, "the objects' catalogue: " + outcome.error().message})));
        });
    return answer.get();
  }

  ObjectStore& store_;
};

}  // namespace

std::unique_ptr<pipelines::ObjectBytes> artifact_bytes(objects::ObjectStore& store) {
  return std::make_unique<ArtifactBytes>(store);
}

}  // namespace hekla
