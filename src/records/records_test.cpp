#include "records/records.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "base/loop.h"
#include "base/temp_dir_test.h"

namespace hekla::records {
namespace {

constexpr Migration kFirst[] = {{1, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE)"}};
constexpr Migration kBoth[] = {kFirst[0], {2, "ALTER TABLE t ADD COLUMN more TEXT"}};

Result<std::int64_t> count(Database& database) {
  Statement* rows = TRY(database.query("SELECT count(*) FROM t", {}));
  TRY(rows->step());
  return rows->integer(0);
}

template <class T>
Result<T> wait(Records& records, Loop& loop, std::move_only_function<Result<T>(Database&)> job) {
  std::promise<Result<T>> promise;
  records.ask<T>(std::move(job), loop, [&](Result<T> got) { promise.set_value(std::move(got)); });
  return promise.get_future().get();
}

Result<std::int64_t> insert(Database& database, const std::string& name) {
  TRY(database.run("INSERT INTO t (name) VALUES (?1)", {name}));
  return database.changes();
}

TEST(Database, KeepsValuesOfEveryKind) {
  auto database = Database::open(":memory:");
  ASSERT_TRUE(database);
  ASSERT_TRUE((*database)->execute("CREATE TABLE v (a, b, c, d)"));
  const std::string bytes("a\0b", 3);
  ASSERT_TRUE((*database)->run("INSERT INTO v VALUES (?1, ?2, ?3, ?4)",
                               {std::int64_t{1} << 62, 0.5, bytes, std::monostate{}}));
  auto rows = (*database)->query("SELECT * FROM v", {});
  ASSERT_TRUE(rows);
  ASSERT_TRUE((*rows)->step().value());
  EXPECT_EQ((*rows)->integer(0), std::int64_t{1} << 62);
  EXPECT_EQ((*rows)->real(1), 0.5);
  EXPECT_EQ((*rows)->text(2), bytes);
  EXPECT_TRUE((*rows)->is_null(3));
  EXPECT_FALSE((*rows)->step().value());
}

TEST(Database, MigratesOnceAndRefusesNewerFiles) {
  TempDir dir;
  const std::string path = dir.path() + "/x.db";
  for (int round = 0; round < 2; ++round) {
    auto database = Database::open(path);
    ASSERT_TRUE(database);
    ASSERT_TRUE((*database)->migrate(kBoth));
    ASSERT_TRUE((*database)->run("INSERT INTO t (more) VALUES ('x')", {}));
  }
  auto database = Database::open(path);
  Result<void> older = (*database)->migrate(kFirst);
  ASSERT_FALSE(older);
  EXPECT_NE(older.error().message.find("newer program"), std::string::npos);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path).permissions() & perms::all,
            perms::owner_read | perms::owner_write);
}

TEST(Database, ABrokenMigrationChangesNothing) {
  auto database = Database::open(":memory:");
  const Migration broken[] = {kFirst[0], {2, "CREATE TABLE u (a); CREATE TABLE t (b)"}};
  ASSERT_FALSE((*database)->migrate(broken));
  ASSERT_TRUE((*database)->migrate(kBoth));
  EXPECT_FALSE((*database)->query("SELECT * FROM u", {}));
}

TEST(Records, AJobThatFailsLeavesItsNeighboursAlone) {
  Loop loop("records"), caller("caller");
  auto records = Records::open(":memory:", kFirst, loop);
  ASSERT_TRUE(records);
  // Holds the loop, so that what follows is one group.
  std::promise<void> gate;
  loop.post([&] { gate.get_future().wait(); });
  std::vector<Result<void>> results;
  std::promise<void> last;
  for (const char* name : {"a", "b", "a", "c"})
    (*records)->submit(
        [name](Database& database) -> Result<void> {
          TRY(insert(database, name));
          return {};
        },
        caller,
        [&](Result<void> got) {
          results.push_back(std::move(got));
          if (results.size() == 4) last.set_value();
        });
  gate.set_value();
  last.get_future().wait();
  EXPECT_TRUE(results[0] && results[1] && results[3]);
  ASSERT_FALSE(results[2]);
  EXPECT_EQ(results[2].error().code, Code::already_exists);
  EXPECT_EQ(wait<std::int64_t>(**records, caller, count).value(), 3);
  caller.stop();
  loop.stop();
}

TEST(Records, WhatWasAnsweredIsInTheFileAndInACopy) {
  TempDir dir;
  {
    Loop loop("records"), caller("caller");
    auto records = Records::open(dir.path() + "/r.db", kFirst, loop);
    ASSERT_TRUE(records);
    ASSERT_TRUE(wait<std::int64_t>(**records, caller,
                                   [](Database& database) { return insert(database, "kept"); }));
    // A second connection sees it: it is committed, not only written.
    auto other = Database::open(dir.path() + "/r.db");
    EXPECT_EQ(count(**other).value(), 1);
    EXPECT_TRUE((*other)->copy_to(dir.path() + "/copy.db"));
    caller.stop();
    loop.stop();
  }
  auto copy = Database::open(dir.path() + "/copy.db");
  EXPECT_EQ(count(**copy).value(), 1);
}

}  // namespace
}  // namespace hekla::records
