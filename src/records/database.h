// One connection to one SQLite file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "records/statement.h"

namespace hekla::records {

// One step of a schema's history. Numbers begin at 1 and have no gaps; a step that was released is
// never changed.
struct Migration {
  int number = 0;
  std::string_view sql;
};

// Belongs to one thread at a time. Errors of a broken constraint (a name that is taken) are
// already_exists, of a locked or full disk unavailable, others internal.
class Database {
  struct Private {};

 public:
  // Makes the file (0600) when there is none. ":memory:" is a database of its own.
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  Database(Private, sqlite3* database) : held_(database) {}
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Takes the missing steps, each with its number in one transaction. A database that has seen
  // later steps than these is refused: an older program must not write to it.
  Result<void> migrate(std::span<const Migration> migrations);

  // A statement without parameters and rows, or several.
  Result<void> execute(std::string_view sql);
  // One statement, run to its end; rows are dropped.
  Result<void> run(std::string_view sql, const std::vector<Value>& parameters);
  // Prepared once and kept; the reference is good until the same text is asked for again.
  Result<Statement*> query(std::string_view sql, const std::vector<Value>& parameters);
  // Rows that the last run() changed.
  std::int64_t changes() const;

  // A consistent copy, made while others read; the file must not exist.
  Result<void> copy_to(const std::string& path);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Error error(std::string_view doing) const;
  Result<Statement> prepare(std::string_view sql);

  std::unique_ptr<sqlite3, Close> held_;
  std::map<std::string, std::unique_ptr<Statement>, std::less<>> prepared_;
};

}  // namespace hekla::records
