#include "records/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/check.h"

namespace hekla::records {
namespace {

// Statements are kept by their text; domains have a few dozen, lists with filters some more.
constexpr std::size_t kPreparedMax = 256;
constexpr int kBusyTimeoutMs = 5000;

Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_CONSTRAINT:
      return Code::already_exists;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return Code::unavailable;
    default:
      return Code::internal;
  }
}

Error error_of(sqlite3* database, std::string_view doing) {
  const int result = sqlite3_extended_errcode(database);
  return {code_of(result), "records: " + std::string(doing) + ": " + sqlite3_errmsg(database)};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<void> Statement::bind(const std::vector<Value>& parameters) {
  sqlite3_reset(held_.get());
  sqlite3_clear_bindings(held_.get());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    int result = SQLITE_OK;
    if (const auto* integer = std::get_if<std::int64_t>(&parameters[i]))
      result = sqlite3_bind_int64(held_.get(), at, *integer);
    else if (const auto* real = std::get_if<double>(&parameters[i]))
      result = sqlite3_bind_double(held_.get(), at, *real);
    else if (const auto* text = std::get_if<std::string>(&parameters[i]))
      result = sqlite3_bind_text64(held_.get(), at, text->data(), text->size(), SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    else
      result = sqlite3_bind_null(held_.get(), at);
    if (result != SQLITE_OK) return std::unexpected(error_of(database_, "binding a parameter"));
  }
  return {};
}

Result<bool> Statement::step() {
  const int result = sqlite3_step(held_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) {
    sqlite3_reset(held_.get());
    return false;
  }
  Error failed = error_of(database_, "running a statement");
  sqlite3_reset(held_.get());
  return std::unexpected(std::move(failed));
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(held_.get(), column);
}
double Statement::real(int column) const { return sqlite3_column_double(held_.get(), column); }
std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(held_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(held_.get(), column))};
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(held_.get(), column) == SQLITE_NULL;
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  if (path != ":memory:") {
    // SQLite would make it readable for everybody; its other files take over this one's mode.
    const int file = ::open(path.c_str(), O_CREAT | O_CLOEXEC | O_RDWR, 0600);
    if (file >= 0) ::close(file);
  }
  sqlite3* raw = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto database = std::make_unique<Database>(Private{}, raw);
  if (result != SQLITE_OK) return std::unexpected(database->error("opening " + path));
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  TRY(
      database->execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                        "PRAGMA trusted_schema=OFF; PRAGMA cache_size=-8192;"));
  return database;
}

Database::~Database() { prepared_.clear(); }

Error Database::error(std::string_view doing) const { return error_of(held_.get(), doing); }

Result<void> Database::migrate(std::span<const Migration> migrations) {
  int wanted = 0;
  for (const Migration& step : migrations)
    CHECK(step.number == ++wanted, "migrations are numbered from 1 without gaps");
  std::int64_t done = 0;
  {
    Statement version = TRY(prepare("PRAGMA user_version"));
    if (TRY(version.step())) done = version.integer(0);
  }
  if (done > wanted)
    return fail(Code::internal, "records: the file was written by a newer program (schema " +
                                    std::to_string(done) + ", this one knows " +
                                    std::to_string(wanted) + ")");
  for (const Migration& step : migrations) {
    if (step.number <= done) continue;
    Result<void> made = execute("BEGIN IMMEDIATE;" + std::string(step.sql) +
                                ";PRAGMA user_version=" + std::to_string(step.number) + ";COMMIT");
    if (made) continue;
    (void)execute("ROLLBACK");
    Error failed = std::move(made).error();
    failed.message += " (in migration " + std::to_string(step.number) + ")";
    return std::unexpected(std::move(failed));
  }
  return {};
}

Result<void> Database::execute(std::string_view sql) {
  if (sqlite3_exec(held_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(error("running a statement"));
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(held_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &raw, nullptr) != SQLITE_OK)
    return std::unexpected(error("reading a statement"));
  return Statement(held_.get(), raw);
}

Result<Statement*> Database::query(std::string_view sql, const std::vector<Value>& parameters) {
  auto found = prepared_.find(sql);
  if (found == prepared_.end()) {
    if (prepared_.size() >= kPreparedMax) prepared_.clear();
    found =
        prepared_.emplace(std::string(sql), std::make_unique<Statement>(TRY(prepare(sql)))).first;
  }
  TRY(found->second->bind(parameters));
  return found->second.get();
}

Result<void> Database::run(std::string_view sql, const std::vector<Value>& parameters) {
  Statement* statement = TRY(query(sql, parameters));
  while (TRY(statement->step())) {
  }
  return {};
}

std::int64_t Database::changes() const { return sqlite3_changes64(held_.get()); }

Result<void> Database::copy_to(const std::string& path) {
  prepared_.clear();  // one whose rows nobody has read to the end would be in the way
  return run("VACUUM INTO ?1", {path});
}

}  // namespace hekla::records
