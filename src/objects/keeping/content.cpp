#include "objects/keeping/content.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"

namespace hekla::objects {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBlock = 1 << 20;

std::unexpected<Error> file_error(const std::string& what) {
  const int number = errno;
  return fail(number == ENOSPC || number == EDQUOT ? Code::unavailable : Code::internal,
              what + ": " + std::strerror(number));
}

Result<void> write_all(int file, std::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t written = ::write(file, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error("write " + path);
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> sync_directory(const std::string& path) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return file_error("open " + path);
  const int failed = ::fsync(directory);
  const int number = errno;
  ::close(directory);
  errno = number;
  if (failed) return file_error("sync " + path);
  return {};
}

std::string next_name() {
  static std::atomic<std::uint64_t> number{0};
  return std::to_string(::getpid()) + "-" + std::to_string(number++);
}

}  // namespace

Spool::~Spool() {
  if (file_ >= 0) ::close(file_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

void Spool::compute(ChecksumKind kind) { checksums_.emplace_back(kind); }

Result<void> Spool::open() {
  path_ = directory_ + "/" + next_name();
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) {
    const std::string path = std::exchange(path_, {});
    return file_error("create " + path);
  }
  TRY(write_all(file_, memory_, path_));
  memory_ = {};
  return {};
}

Result<void> Spool::add(std::string_view data) {
  sha256_.add(data);
  md5_.add(data);
  for (Checksum& checksum : checksums_) checksum.add(data);
  bytes_ += data.size();
  if (file_ < 0 && bytes_ <= kInlineBytes) {
    memory_ += data;
    return {};
  }
  if (file_ < 0) TRY(open());
  return write_all(file_, data, path_);
}

Result<void> Spool::adopt(const std::string& path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0) return file_error("open " + path);
  path_ = path;
  std::string block(kReadBlock, '\0');
  while (true) {
    const ssize_t got = ::read(file_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read " + path);
    if (got == 0) break;
    const std::string_view data(block.data(), static_cast<std::size_t>(got));
    sha256_.add(data);
    md5_.add(data);
    bytes_ += data.size();
    if (bytes_ <= kInlineBytes) memory_ += data;
  }
  finish();
  if (bytes_ > kInlineBytes) {
    memory_ = {};
    return {};
  }
  ::close(std::exchange(file_, -1));
  ::unlink(path_.c_str());
  path_.clear();
  return {};
}

Result<void> Spool::sync() {
  if (file_ >= 0 && ::fdatasync(file_) != 0) return file_error("sync " + path_);
  return {};
}

void Spool::finish() {
  sha256_hex_ = sha256_.finish_hex();
  md5_raw_ = md5_.finish();
  for (Checksum& checksum : checksums_) values_.emplace_back(checksum.kind(), checksum.finish());
}

std::optional<std::string> Spool::checksum(ChecksumKind kind) const {
  for (const auto& [of, value] : values_)
    if (of == kind) return value;
  return std::nullopt;
}

Held::~Held() {
  if (file_ >= 0) ::close(file_);
}

Result<void> Held::read(std::uint64_t offset, std::size_t size, std::string& out) const {
  if (file_ < 0) {
    if (offset + size > bytes_.size()) return fail(Code::internal, "the content is too short");
    out.append(bytes_, offset, size);
    return {};
  }
  const std::size_t before = out.size();
  out.resize(before + size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(file_, out.data() + before + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read the content of an object");
    if (got == 0) return fail(Code::internal, "the content is too short");
    done += static_cast<std::size_t>(got);
  }
  return {};
}

int Held::duplicate() const { return file_ < 0 ? -1 : ::fcntl(file_, F_DUPFD_CLOEXEC, 0); }

Result<std::unique_ptr<Content>> Content::open(const std::string& root) {
  std::error_code error;
  fs::remove_all(root + "/incoming", error);
  for (const char* directory : {"/incoming", "/content"}) {
    fs::create_directories(root + directory, error);
    if (error) return fail(Code::internal, "create " + root + directory + ": " + error.message());
    fs::permissions(root + directory, fs::perms::owner_all, error);
  }
  return std::unique_ptr<Content>(std::make_unique<Content>(Content(root)));
}

std::string Content::incoming_path() const { return incoming() + "/" + next_name(); }

std::string Content::path(const Piece& piece) const {
  if (piece.bytes <= kInlineBytes) return {};
  CHECK(piece.hash.size() == 64, "a piece is named by its SHA-256");
  return root_ + "/content/" + piece.hash.substr(0, 2) + "/" + piece.hash;
}

Result<void> Content::keep(records::Database& database, Spool& spool) const {
  const Piece piece = spool.piece();
  CHECK(!piece.hash.empty(), "a spool is finished before it is kept");
  TRY(database.run("UPDATE content SET refs = refs + 1 WHERE hash = ?1", {piece.hash}));
  if (database.changes() > 0) return {};
  if (spool.path_.empty()) {
    return database.run("INSERT INTO content (hash, bytes, refs, data) VALUES (?1, ?2, 1, ?3)",
                        {piece.hash, static_cast<std::int64_t>(piece.bytes), spool.memory_});
  }
  const std::string path = this->path(piece);
  const std::string directory = path.substr(0, path.rfind('/'));
  std::error_code error;
  if (fs::create_directory(directory, error)) TRY(sync_directory(root_ + "/content"));
  if (::chmod(spool.path_.c_str(), 0400) != 0 || ::rename(spool.path_.c_str(), path.c_str()) != 0)
    return file_error("rename " + spool.path_ + " to " + path);
  spool.path_.clear();
  TRY(sync_directory(directory));
  return database.run("INSERT INTO content (hash, bytes, refs) VALUES (?1, ?2, 1)",
                      {piece.hash, static_cast<std::int64_t>(piece.bytes)});
}

Result<void> Content::share(records::Database& database, const Piece& piece) const {
  TRY(database.run("UPDATE content SET refs = refs + 1 WHERE hash = ?1", {piece.hash}));
  if (database.changes() == 1) return {};
  return fail(Code::internal, "the content " + piece.hash + " is not here");
}

Result<void> Content::release(records::Database& database, const Piece& piece) const {
  TRY(database.run("UPDATE content SET refs = refs - 1 WHERE hash = ?1", {piece.hash}));
  if (database.changes() == 1) return {};
  return fail(Code::internal, "the content " + piece.hash + " is not here");
}

Result<std::shared_ptr<const Held>> Content::hold(records::Database& database,
                                                  const Piece& piece) const {
  const std::string path = this->path(piece);
  if (path.empty()) {
    records::Statement* found =
        TRY(database.query("SELECT data FROM content WHERE hash = ?1", {piece.hash}));
    if (!TRY(found->step()))
      return fail(Code::internal, "the content " + piece.hash + " is not here");
    return std::make_shared<const Held>(found->text(0));
  }
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return file_error("open " + path);
  return std::make_shared<const Held>(file);
}

Result<std::vector<std::string>> Content::forget(records::Database& database) const {
  std::vector<std::string> files;
  records::Statement* unused =
      TRY(database.query("SELECT hash FROM content WHERE refs <= 0 AND data IS NULL LIMIT ?1",
                         {static_cast<std::int64_t>(kForgotten)}));
  while (TRY(unused->step())) files.push_back(unused->text(0));
  for (const std::string& hash : files)
    TRY(database.run("DELETE FROM content WHERE hash = ?1", {hash}));
  TRY(database.run("DELETE FROM content WHERE refs <= 0 AND data IS NOT NULL", {}));
  return files;
}

Result<void> Content::drop(records::Database& database,
                           const std::vector<std::string>& hashes) const {
  for (const std::string& hash : hashes) {
    records::Statement* known =
        TRY(database.query("SELECT 1 FROM content WHERE hash = ?1", {hash}));
    if (TRY(known->step())) continue;
    ::unlink((root_ + "/content/" + hash.substr(0, 2) + "/" + hash).c_str());
  }
  return {};
}

Result<void> Content::remove_strays(records::Database& database) const {
  std::error_code error;
  std::vector<std::string> hashes;
  for (const auto& directory : fs::directory_iterator(root_ + "/content", error))
    for (const auto& file : fs::directory_iterator(directory.path(), error))
      hashes.push_back(file.path().filename());
  return drop(database, hashes);
}

}  // namespace hekla::objects
