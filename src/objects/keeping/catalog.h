// Buckets, objects and uploads in the catalogue's database. Every function runs inside one of the
// catalogue's jobs (records/records.h); what it writes is durable when the job's answer comes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "objects/keeping/content.h"
#include "objects/keeping/object_info.h"
#include "records/database.h"

namespace hekla::objects {

std::span<const records::Migration> catalog_migrations();

struct BucketInfo {
  std::string name;
  WallTime created;
};

struct UploadInfo {
  std::string id, key;
  WallTime started;
  Metadata metadata;
  std::string checksum;  // "CRC32C", or empty
};

struct PartInfo {
  int number = 0;
  std::string etag;
  WallTime modified;
  Piece piece;
  std::map<std::string, std::string> checksums;
};

class Catalog {
 public:
  Catalog(records::Database& database, const Content& content)
      : database_(database), content_(content) {}

  Result<bool> has_bucket(const std::string& bucket);
  // False when there is one already.
  Result<bool> make_bucket(const std::string& bucket, WallTime now);
  Result<std::vector<BucketInfo>> buckets();
  Result<bool> bucket_is_empty(const std::string& bucket);
  // With the uploads that were not completed.
  Result<void> remove_bucket(const std::string& bucket);

  Result<std::optional<ObjectInfo>> find(const std::string& bucket, const std::string& key);
  // The references on the object's pieces have been taken; those of its predecessor are given back.
  Result<void> put(const std::string& bucket, const ObjectInfo& object);
  Result<void> set_metadata(const std::string& bucket, const std::string& key,
                            const Metadata& metadata);
  // False when there was none.
  Result<bool> remove(const std::string& bucket, const std::string& key);
  // Objects with key >= `from` that begin with `prefix`, in order, at most `most`.
  Result<std::vector<ObjectInfo>> range(const std::string& bucket, const std::string& prefix,
                                        const std::string& from, int most);

  // Content: see keeping/content.h.
  Result<void> keep(Spool& spool) { return content_.keep(database_, spool); }
  Result<void> share(const Piece& piece) { return content_.share(database_, piece); }
  Result<std::shared_ptr<const Held>> hold(const Piece& piece) {
    return content_.hold(database_, piece);
  }

  Result<void> begin_upload(const std::string& bucket, const UploadInfo& upload);
  Result<std::optional<UploadInfo>> upload(const std::string& bucket, const std::string& key,
                                           const std::string& id);
  Result<std::vector<UploadInfo>> uploads(const std::string& bucket, const std::string& prefix);
  // A part of the same number is replaced.
  Result<void> put_part(const std::string& id, const PartInfo& part);
  Result<std::vector<PartInfo>> parts(const std::string& id);
  // Parts whose numbers are in `kept` keep their references: they are an object's now.
  Result<void> end_upload(const std::string& id, const std::vector<int>& kept);

 private:
  records::Database& database_;
  const Content& content_;
};

}  // namespace hekla::objects
