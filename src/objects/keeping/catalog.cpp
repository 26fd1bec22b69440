#include "objects/keeping/catalog.h"

#include <algorithm>
#include <array>

#include "json/parse.h"
#include "json/value.h"

namespace hekla::objects {
namespace {

constexpr std::array kMigrations = std::to_array<records::Migration>({
    {1, R"sql(
CREATE TABLE bucket (name TEXT PRIMARY KEY, created INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE object (
  bucket TEXT NOT NULL, key TEXT NOT NULL, etag TEXT NOT NULL, bytes INTEGER NOT NULL,
  modified INTEGER NOT NULL, metadata TEXT NOT NULL, pieces TEXT NOT NULL,
  PRIMARY KEY (bucket, key)) WITHOUT ROWID;
CREATE TABLE content (hash TEXT PRIMARY KEY, bytes INTEGER NOT NULL, refs INTEGER NOT NULL,
  data BLOB);
CREATE INDEX content_unused ON content (refs) WHERE refs <= 0;
CREATE TABLE upload (
  id TEXT PRIMARY KEY, bucket TEXT NOT NULL, key TEXT NOT NULL, started INTEGER NOT NULL,
  metadata TEXT NOT NULL, checksum TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX upload_key ON upload (bucket, key);
CREATE TABLE part (
  upload TEXT NOT NULL, number INTEGER NOT NULL, etag TEXT NOT NULL, modified INTEGER NOT NULL,
  piece TEXT NOT NULL, checksums TEXT NOT NULL, PRIMARY KEY (upload, number)) WITHOUT ROWID;
)sql"},
});

constexpr std::string_view kObjectColumns =
    "SELECT key, etag, bytes, modified, metadata, pieces FROM object ";

std::int64_t milliseconds(WallTime at) {
  return std::chrono::floor<std::chrono::milliseconds>(at).time_since_epoch().count();
}
WallTime from_milliseconds(std::int64_t count) {
  return WallTime(std::chrono::milliseconds(count));
}

Result<ObjectInfo> object_of(const records::Statement& row) {
  ObjectInfo object;
  object.key = row.text(0);
  object.etag = row.text(1);
  object.bytes = static_cast<std::uint64_t>(row.integer(2));
  object.modified = from_milliseconds(row.integer(3));
  object.metadata = TRY(decode_metadata(row.text(4)));
  object.pieces = TRY(decode_pieces(row.text(5)));
  return object;
}

// Checksums of a part are kept as the metadata of an object are.
std::string encode_checksums(const std::map<std::string, std::string>& checksums) {
  return encode_metadata({.checksums = checksums});
}

}  // namespace

std::span<const records::Migration> catalog_migrations() { return kMigrations; }

Result<bool> Catalog::has_bucket(const std::string& bucket) {
  records::Statement* found =
      TRY(database_.query("SELECT 1 FROM bucket WHERE name = ?1", {bucket}));
  return found->step();
}

Result<bool> Catalog::make_bucket(const std::string& bucket, WallTime now) {
  TRY(database_.run("INSERT OR IGNORE INTO bucket (name, created) VALUES (?1, ?2)",
                    {bucket, milliseconds(now)}));
  return database_.changes() > 0;
}

Result<std::vector<BucketInfo>> Catalog::buckets() {
  std::vector<BucketInfo> all;
  records::Statement* row =
      TRY(database_.query("SELECT name, created FROM bucket ORDER BY name", {}));
  while (TRY(row->step())) all.push_back({row->text(0), from_milliseconds(row->integer(1))});
  return all;
}

Result<bool> Catalog::bucket_is_empty(const std::string& bucket) {
  records::Statement* found =
      TRY(database_.query("SELECT 1 FROM object WHERE bucket = ?1 LIMIT 1", {bucket}));
  return !TRY(found->step());
}

Result<void> Catalog::remove_bucket(const std::string& bucket) {
  for (const UploadInfo& upload : TRY(uploads(bucket, ""))) TRY(end_upload(upload.id, {}));
  return database_.run("DELETE FROM bucket WHERE name = ?1", {bucket});
}

Result<std::optional<ObjectInfo>> Catalog::find(const std::string& bucket, const std::string& key) {
  records::Statement* row = TRY(database_.query(
      std::string(kObjectColumns) + "WHERE bucket = ?1 AND key = ?2", {bucket, key}));
  if (!TRY(row->step())) return std::nullopt;
  return TRY(object_of(*row));
}

Result<void> Catalog::put(const std::string& bucket, const ObjectInfo& object) {
  if (std::optional<ObjectInfo> before = TRY(find(bucket, object.key)))
    for (const Piece& piece : before->pieces) TRY(content_.release(database_, piece));
  return database_.run(
      "INSERT OR REPLACE INTO object (bucket, key, etag, bytes, modified, metadata, pieces) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      {bucket, object.key, object.etag, static_cast<std::int64_t>(object.bytes),
       milliseconds(object.modified), encode_metadata(object.metadata),
       encode_pieces(object.pieces)});
}

Result<void> Catalog::set_metadata(const std::string& bucket, const std::string& key,
                                   const Metadata& metadata) {
  return database_.run("UPDATE object SET metadata = ?3 WHERE bucket = ?1 AND key = ?2",
                       {bucket, key, encode_metadata(metadata)});
}

Result<bool> Catalog::remove(const std::string& bucket, const std::string& key) {
  std::optional<ObjectInfo> object = TRY(find(bucket, key));
  if (!object) return false;
  for (const Piece& piece : object->pieces) TRY(content_.release(database_, piece));
  TRY(database_.run("DELETE FROM object WHERE bucket = ?1 AND key = ?2", {bucket, key}));
  return true;
}

Result<std::vector<ObjectInfo>> Catalog::range(const std::string& bucket, const std::string& prefix,
                                               const std::string& from, int most) {
  std::vector<ObjectInfo> objects;
  records::Statement* row = TRY(database_.query(
      std::string(kObjectColumns) + "WHERE bucket = ?1 AND key >= ?2 ORDER BY key LIMIT ?3",
      {bucket, std::max(prefix, from), static_cast<std::int64_t>(most)}));
  while (TRY(row->step())) {
    if (!row->text(0).starts_with(prefix)) break;
    objects.push_back(TRY(object_of(*row)));
  }
  return objects;
}

Result<void> Catalog::begin_upload(const std::string& bucket, const UploadInfo& upload) {
  return database_.run(
      "INSERT INTO upload (id, bucket, key, started, metadata, checksum) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      {upload.id, bucket, upload.key, milliseconds(upload.started),
       encode_metadata(upload.metadata), upload.checksum});
}

Result<std::optional<UploadInfo>> Catalog::upload(const std::string& bucket, const std::string& key,
                                                  const std::string& id) {
  records::Statement* row = TRY(
      database_.query("SELECT id, key, started, metadata, checksum FROM upload WHERE id = ?1 AND "
                      "bucket = ?2 AND key = ?3",
                      {id, bucket, key}));
  if (!TRY(row->step())) return std::nullopt;
  return UploadInfo{row->text(0), row->text(1), from_milliseconds(row->integer(2)),
                    TRY(decode_metadata(row->text(3))), row->text(4)};
}

Result<std::vector<UploadInfo>> Catalog::uploads(const std::string& bucket,
                                                 const std::string& prefix) {
  std::vector<UploadInfo> all;
  records::Statement* row = TRY(
      database_.query("SELECT id, key, started, metadata, checksum FROM upload WHERE bucket = ?1 "
                      "AND key >= ?2 ORDER BY key, id",
                      {bucket, prefix}));
  while (TRY(row->step())) {
    if (!row->text(1).starts_with(prefix)) break;
    all.push_back({row->text(0), row->text(1), from_milliseconds(row->integer(2)),
                   TRY(decode_metadata(row->text(3))), row->text(4)});
  }
  return all;
}

Result<void> Catalog::put_part(const std::string& id, const PartInfo& part) {
  for (const PartInfo& before : TRY(parts(id)))
    if (before.number == part.number) TRY(content_.release(database_, before.piece));
  return database_.run(
      "INSERT OR REPLACE INTO part (upload, number, etag, modified, piece, checksums) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      {id, static_cast<std::int64_t>(part.number), part.etag, milliseconds(part.modified),
       encode_pieces({part.piece}), encode_checksums(part.checksums)});
}

Result<std::vector<PartInfo>> Catalog::parts(const std::string& id) {
  std::vector<PartInfo> all;
  records::Statement* row =
      TRY(database_.query("SELECT number, etag, modified, piece, checksums FROM part "
                          "WHERE upload = ?1 ORDER BY number",
                          {id}));
  while (TRY(row->step())) {
    std::vector<Piece> pieces = TRY(decode_pieces(row->text(3)));
    if (pieces.size() != 1) return fail(Code::internal, "a part is not one piece");
    all.push_back({static_cast<int>(row->integer(0)), row->text(1),
                   from_milliseconds(row->integer(2)), pieces.front(),
                   TRY(decode_metadata(row->text(4))).checksums});
  }
  return all;
}

Result<void> Catalog::end_upload(const std::string& id, const std::vector<int>& kept) {
  for (const PartInfo& part : TRY(parts(id)))
    if (std::ranges::find(kept, part.number) == kept.end())
      TRY(content_.release(database_, part.piece));
  TRY(database_.run("DELETE FROM part WHERE upload = ?1", {id}));
  return database_.run("DELETE FROM upload WHERE id = ?1", {id});
}

}  // namespace hekla::objects
