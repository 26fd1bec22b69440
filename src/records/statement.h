// A prepared statement: parameters are bound by position from 1, columns read by position from 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hekla::records {

// A parameter or a column: null, integer, real, text (bytes are text here).
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

// Belongs to its Database's thread and must not outlive it.
class Statement {
 public:
  // Begins anew with these parameters; fails when there are more than the statement has.
  Result<void> bind(const std::vector<Value>& parameters);
  // True while there is a row to read.
  Result<bool> step();

  // Of the row that step() has found. Null reads as 0 or "".
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* database, sqlite3_stmt* statement) : database_(database), held_(statement) {}

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> held_;
};

}  // namespace hekla::records
