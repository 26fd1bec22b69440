// The store on a disk that misbehaves: while it runs, and when it starts again.
#include "store/recovery.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "store/store_fixture_test.h"

namespace hekla::store {
namespace {

const std::string kFirst = "segment-0000000001.log";
const std::string kSecond = "segment-0000000002.log";

class DiskTest : public testing::Test {
 protected:
  void SetUp() override { f.open(); }
  std::vector<std::string> files() { return f.disk.list().value(); }
  std::uint64_t size_of(const std::string& name) { return f.disk.read(name)->size(); }
  std::string open_error() {
    f.kill();
    Result<void> opened = f.try_open();
    return opened ? "opened" : opened.error().message;
  }
  StoreFixture f;
};

TEST_F(DiskTest, AFullDiskFailsWritesAndNothingElse) {
  f.commit(put(f.pods, "a", "1"));
  std::uint64_t good = size_of(kFirst);
  int notified = 0;
  auto token = f.store->subscribe(f.pods, [&] { ++notified; });
  f.disk.set_space_left(10);
  CommitResults results =
      f.commit(std::vector<Write>{put(f.pods, "b", "2"), put(f.pods, "a", "", kAbsent)});
  for (const auto& result : results) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::unavailable);
    EXPECT_EQ(result.error().message,
              "cannot commit: write segment-0000000001.log: No space left on device");
  }
  EXPECT_EQ(notified, 0);
  EXPECT_EQ(f.store->snapshot().revision(), 1u);
  EXPECT_EQ(f.store->snapshot().get(f.pods, "b"), nullptr);
  EXPECT_TRUE(f.store->changes_after(f.pods, 1, 10)->empty());
  EXPECT_EQ(size_of(kFirst), good);
  f.disk.set_space_left(std::nullopt);
  EXPECT_EQ(f.commit(put(f.pods, "b", "3")).value()->modified, 2u);
  f.reopen();
  EXPECT_EQ(f.store->snapshot().get(f.pods, "b")->value, "3");
}

TEST_F(DiskTest, AfterAFailedSyncTheLogMovesToANewSegment) {
  f.commit(put(f.pods, "a", "1"));
  f.disk.fail_next_syncs(1);
  Result<ItemPtr> failed = f.commit(put(f.pods, "b", "lost"));
  EXPECT_EQ(failed.error().code, Code::unavailable);
  EXPECT_EQ(failed.error().message,
            "cannot commit: fdatasync segment-0000000001.log: Input/output error");
  EXPECT_EQ(f.store->snapshot().revision(), 1u);
  ASSERT_TRUE(f.simulation.run_until_idle());
  EXPECT_EQ(files(), (std::vector<std::string>{kSecond, "snapshot-0000000002.snap"}));
  EXPECT_EQ(f.commit(put(f.pods, "c", "kept")).value()->modified, 2u);
  f.kill();
  f.disk.crash();
  f.open();
  EXPECT_EQ(f.store->snapshot().get(f.pods, "a")->value, "1");
  EXPECT_EQ(f.store->snapshot().get(f.pods, "b"), nullptr);
  EXPECT_EQ(f.store->snapshot().get(f.pods, "c")->value, "kept");
}

TEST_F(DiskTest, WritesFailUntilTheFreshSnapshotIsThere) {
  f.disk.fail_next_syncs(3);  // the commit's, then those of two attempts at a snapshot
  EXPECT_FALSE(f.commit(put(f.pods, "a", "")));
  f.simulation.run_until_idle();
  Result<ItemPtr> second = f.commit(put(f.pods, "a", ""));
  ASSERT_FALSE(second);
  EXPECT_EQ(
      second.error().message,
      "cannot commit: fdatasync segment-0000000001.log: Input/output error; a fresh snapshot is "
      "being written first");
  f.simulation.run_until_idle();
  EXPECT_FALSE(f.commit(put(f.pods, "a", "")));
  f.simulation.run_until_idle();
  EXPECT_TRUE(f.commit(put(f.pods, "a", "")));
}

TEST_F(DiskTest, AFailedCutOfTheLogIsAFailedSync) {
  f.commit(put(f.pods, "a", "1"));
  f.disk.set_space_left(10);
  f.disk.fail_next_truncates(2);
  EXPECT_FALSE(f.commit(put(f.pods, "b", "")));
  f.simulation.run_until_idle();
  EXPECT_FALSE(f.commit(put(f.pods, "b", ""))) << "no space for a snapshot either";
  f.disk.set_space_left(std::nullopt);
  f.simulation.run_until_idle();
  f.commit(put(f.pods, "b", ""));
  f.simulation.run_until_idle();
  EXPECT_EQ(f.commit(put(f.pods, "b", "2")).value()->value, "2");
  f.reopen();
  EXPECT_EQ(f.store->snapshot().get(f.pods, "a")->value, "1");
}

TEST_F(DiskTest, SmallCommitsGoOverZerosThatOnlyTheLastSegmentHas) {
  f.options.write_ahead_bytes = 4000;
  f.reopen();
  f.commit(put(f.pods, "a", "1"));
  const std::uint64_t full = size_of(kFirst);
  EXPECT_EQ(full, 4040u);
  for (int i = 0; i < 10; ++i) f.commit(put(f.pods, "b", std::to_string(i)));
  EXPECT_EQ(size_of(kFirst), full);
  f.commit(put(f.pods, "large", std::string(4000, 'v')));
  EXPECT_GT(size_of(kFirst), full);
  f.kill();
  f.disk.crash();
  f.open();
  EXPECT_EQ(f.store->snapshot().revision(), 12u);
  f.commit(put(f.pods, "c", "2"));
  f.disk.set_space_left(60);  // for the header of the next segment, not for a snapshot
  EXPECT_FALSE(f.compact());
  f.disk.set_space_left(std::nullopt);
  EXPECT_EQ(f.disk.read(kFirst).value().back(), '2');
  f.commit(put(f.pods, "d", "3"));
  EXPECT_EQ(size_of(kSecond), 4040u);
  f.kill();
  f.disk.crash();
  f.open();
  EXPECT_EQ(f.store->snapshot().revision(), 14u);
  EXPECT_EQ(f.store->snapshot().get(f.pods, "d")->value, "3");
}

TEST_F(DiskTest, WhereZerosHaveNoRoomCommitsMayHave) {
  f.options.write_ahead_bytes = 4000;
  f.reopen();
  f.disk.set_space_left(300);
  EXPECT_TRUE(f.commit(put(f.pods, "a", "1")));
  EXPECT_TRUE(f.commit(put(f.pods, "b", "2")));
  Result<ItemPtr> full = f.commit(put(f.pods, "c", std::string(300, 'v')));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message,
            "cannot commit: write segment-0000000001.log: No space left on device");
  EXPECT_TRUE(f.commit(put(f.pods, "c", "3")));
  f.reopen();
  EXPECT_EQ(f.store->snapshot().count(f.pods), 3u);
}

TEST_F(DiskTest, ASegmentWhoseZerosCannotBeCutIsAbandoned) {
  f.options.write_ahead_bytes = 4000;
  f.reopen();
  f.commit(put(f.pods, "a", "1"));
  f.disk.fail_next_syncs(1);
  EXPECT_FALSE(f.compact());
  Result<ItemPtr> failed = f.commit(put(f.pods, "b", "2"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "cannot commit: fdatasync segment-0000000001.log: Input/output error; a fresh snapshot "
            "is being written "
            "first");
  ASSERT_TRUE(f.simulation.run_until_idle());
  EXPECT_TRUE(f.commit(put(f.pods, "b", "2")));
  f.kill();
  f.disk.crash();
  f.open();
  EXPECT_EQ(f.store->snapshot().count(f.pods), 2u);
}

TEST_F(DiskTest, CompactionCutsTheLog) {
  for (int i = 0; i < 100; ++i) f.commit(put(f.pods, "a", std::string(1000, 'v')));
  ASSERT_TRUE(f.compact());
  EXPECT_EQ(files(), (std::vector<std::string>{kSecond, "snapshot-0000000002.snap"}));
  EXPECT_EQ(size_of(kSecond), 40u);
  f.commit(put(f.pods, "b", "after"));
  f.reopen();
  EXPECT_EQ(f.store->snapshot().revision(), 101u);
  EXPECT_EQ(f.store->snapshot().get(f.pods, "b")->value, "after");
  EXPECT_EQ(f.store->snapshot().get(f.pods, "a")->created, 1u);
}

TEST_F(DiskTest, CompactionsThatOverlapAreAllAnswered) {
  int answered = 0;
  for (int i = 0; i < 3; ++i) {
    f.store->compact([&](Result<void> result) { answered += result.has_value(); });
    f.simulation.step();
  }
  f.simulation.run_until_idle();
  EXPECT_EQ(answered, 3);
}

TEST_F(DiskTest, ALargeSnapshotIsWrittenInPiecesWhileCommitsGoOn) {
  std::vector<Write> writes;
  for (int i = 0; i < 5000; ++i)
    writes.push_back(put(f.pods, std::to_string(i), std::string(1000, 'v')));
  f.commit(std::move(writes));
  bool compacted = false;
  f.store->compact([&](Result<void> result) { compacted = result.has_value(); });
  int commits = 0;
  while (!compacted) {
    f.commit(put(f.nodes, std::to_string(commits++), ""));
    ASSERT_LT(commits, 10'000);
  }
  EXPECT_GE(commits, 3) << "commits did not get between the pieces";
  f.reopen();
  EXPECT_EQ(f.store->snapshot().count(f.pods), 5000u);
  EXPECT_EQ(f.store->snapshot().count(f.nodes), static_cast<std::size_t>(commits));
}

TEST_F(DiskTest, TheLogIsCutWhenItOutgrowsTheData) {
  f.options.log_bytes_before_snapshot = 10'000;
  f.reopen();
  for (int i = 0; i < 9; ++i) f.commit(put(f.pods, "a", std::string(1000, 'v')));
  f.simulation.run_until_idle();
  EXPECT_EQ(files(), (std::vector<std::string>{kFirst}));
  for (int i = 0; i < 3; ++i) f.commit(put(f.pods, "a", std::string(1000, 'v')));
  f.simulation.run_until_idle();
  EXPECT_EQ(files(), (std::vector<std::string>{kSecond, "snapshot-0000000002.snap"}));

  // With 50 000 live bytes the log may grow as far.
  for (int i = 0; i < 50; ++i) f.commit(put(f.pods, std::to_string(i), std::string(1000, 'v')));
  ASSERT_TRUE(f.compact());
  std::vector<std::string> before = files();
  for (int i = 0; i < 40; ++i) f.commit(put(f.pods, std::to_string(i), std::string(1000, 'v')));
  f.simulation.run_until_idle();
  EXPECT_EQ(files(), before);
}

TEST_F(DiskTest, AFailedSnapshotLeavesTheStoreAsItWas) {
  f.commit(put(f.pods, "a", "1"));
  f.disk.set_space_left(60);  // enough for the segment's header, not for the snapshot
  EXPECT_FALSE(f.compact());
  f.disk.set_space_left(std::nullopt);
  EXPECT_EQ(files(), (std::vector<std::string>{kFirst, kSecond}));
  f.commit(put(f.pods, "b", "2"));
  f.reopen();
  EXPECT_EQ(f.store->snapshot().count(f.pods), 2u);
  EXPECT_TRUE(f.compact());
  EXPECT_EQ(files(),
            (std::vector<std::string>{"segment-0000000003.log", "snapshot-0000000003.snap"}));

  f.disk.set_space_left(10);  // not even for the header: the log stays in its segment
  EXPECT_FALSE(f.compact());
  f.disk.set_space_left(std::nullopt);
  EXPECT_TRUE(f.commit(put(f.pods, "c", "3")));
  f.reopen();
  EXPECT_EQ(f.store->snapshot().count(f.pods), 3u);
}

TEST_F(DiskTest, ATornTailIsCutAtEveryLength) {
  f.commit(put(f.pods, "a", "1"));
  std::uint64_t good = size_of(kFirst);
  f.commit(Batch{{put(f.pods, "b", "2"), put(f.pods, "c", "3")}, true});
  const std::string whole = f.disk.read(kFirst).value();
  for (std::uint64_t n = good; n < whole.size(); ++n) {
    f.kill();
    f.disk.put_file(kFirst, whole.substr(0, n));
    f.open();
    Snapshot s = f.store->snapshot();
    ASSERT_EQ(s.revision(), 1u) << n;
    ASSERT_EQ(s.count(f.pods), 1u) << n;
    ASSERT_EQ(size_of(kFirst), good) << n;
  }
  EXPECT_EQ(f.commit(put(f.pods, "b", "again")).value()->modified, 2u);
  f.reopen();
  EXPECT_EQ(f.store->snapshot().get(f.pods, "b")->value, "again");
}

TEST_F(DiskTest, DamageBeforeTheTailIsAnErrorWithItsPlace) {
  std::vector<std::uint64_t> starts;
  for (int i = 0; i < 4; ++i) {
    starts.push_back(size_of(kFirst));
    f.commit(put(f.pods, std::to_string(i), "value"));
  }
  std::uint64_t end = size_of(kFirst);
  for (std::uint64_t at = starts[1]; at < starts[2]; ++at) {
    f.disk.flip_bit(kFirst, at, static_cast<unsigned>(at));
    ASSERT_EQ(open_error(), kFirst + ": damaged at offset " + std::to_string(starts[1]) +
                                ": no valid group, yet the log goes on at offset " +
                                std::to_string(starts[2]));
    ASSERT_EQ(size_of(kFirst), end) << "a failed start must not change anything";
    f.disk.flip_bit(kFirst, at, static_cast<unsigned>(at));
  }
  f.disk.flip_bit(kFirst, 20, 0);
  EXPECT_EQ(open_error(), kFirst + ": damaged at offset 0: the header's checksum does not match");
  f.disk.flip_bit(kFirst, 20, 0);
  EXPECT_EQ(open_error(), "opened");
}

TEST_F(DiskTest, ABadEndOfAnEarlierSegmentIsAnError) {
  f.commit(put(f.pods, "a", "1"));
  std::uint64_t start = size_of(kFirst);
  f.commit(put(f.pods, "b", "2"));
  f.disk.set_space_left(60);
  EXPECT_FALSE(f.compact());
  f.disk.set_space_left(std::nullopt);
  f.commit(put(f.pods, "c", "3"));
  std::string whole = f.disk.read(kFirst).value();
  f.disk.flip_bit(kFirst, whole.size() - 1, 0);
  EXPECT_EQ(open_error(), kFirst + ": damaged at offset " + std::to_string(start) +
                              ": no valid group, yet the log goes on");
  f.disk.put_file(kFirst, whole.substr(0, start));
  EXPECT_EQ(open_error(), kSecond +
                              ": damaged at offset 0: it goes on after revision 2, but the log "
                              "before it ends with 1");
  f.disk.put_file(kFirst, whole);
  ASSERT_TRUE(f.disk.remove(kFirst));
  EXPECT_EQ(open_error(), kFirst + ": missing, though the log goes on with " + kSecond);
  f.disk.put_file(kFirst, whole);
  EXPECT_EQ(open_error(), "opened");
}

TEST_F(DiskTest, ASegmentThatWasBeingBegunDoesNotMatter) {
  f.commit(put(f.pods, "a", "1"));
  std::string header = encode_header(FileKind::segment, {2, 1, 77});
  for (std::size_t n = 0; n <= header.size(); ++n) {
    f.kill();
    f.disk.put_file(kSecond, header.substr(0, n));
    f.open();
    ASSERT_EQ(files(), (std::vector<std::string>{kFirst})) << n;
    ASSERT_EQ(f.store->snapshot().revision(), 1u);
  }
  // A failed attempt to begin it may lie behind commits that went on in its predecessor.
  f.commit(put(f.pods, "b", "2"));
  f.kill();
  f.disk.put_file(kSecond, header);
  f.open();
  EXPECT_EQ(f.store->snapshot().revision(), 2u);
  // But it cannot know of revisions that are nowhere.
  f.disk.put_file(kSecond, encode_header(FileKind::segment, {2, 3, 77}));
  EXPECT_EQ(open_error(), kSecond +
                              ": damaged at offset 0: it goes on after revision 3, but the log "
                              "before it ends with 2");
}

TEST_F(DiskTest, ALostSegmentAfterASnapshotIsAnError) {
  f.commit(put(f.pods, "a", "1"));
  ASSERT_TRUE(f.compact());
  f.commit(put(f.pods, "b", "2"));
  const std::string whole = f.disk.read(kSecond).value();
  const std::string error =
      kSecond + ": missing or empty, though the log goes on in it after snapshot-0000000002.snap";
  for (std::size_t n = 0; n < kFileHeaderBytes; ++n) {
    f.disk.put_file(kSecond, whole.substr(0, n));
    ASSERT_EQ(open_error(), error) << n;
  }
  ASSERT_TRUE(f.disk.remove(kSecond));
  EXPECT_EQ(open_error(), error);
  EXPECT_EQ(files(), (std::vector<std::string>{"snapshot-0000000002.snap"}));
  f.disk.put_file(kSecond, whole);
  EXPECT_EQ(open_error(), "opened");
  EXPECT_EQ(f.store->snapshot().revision(), 2u);
}

TEST_F(DiskTest, AStoreThatWasInUseIsNeverBegunAnew) {
  f.commit(put(f.pods, "a", "1"));
  f.options.was_in_use = true;
  const std::string whole = f.disk.read(kFirst).value();
  const std::string error = kFirst +
                            ": missing or empty, though this store was in use; remove its "
                            "directory to begin anew";
  f.disk.put_file(kFirst, "");
  EXPECT_EQ(open_error(), error);
  ASSERT_TRUE(f.disk.remove(kFirst));
  EXPECT_EQ(open_error(), error);
  f.disk.put_file(kFirst, whole);
  EXPECT_EQ(open_error(), "opened");
  EXPECT_EQ(f.store->snapshot().revision(), 1u);
}

// The one state in which a snapshot has no segment: its predecessor was abandoned and the process
// ended before the next one was begun.
TEST_F(DiskTest, ASnapshotInPlaceOfAnAbandonedSegmentNeedsNone) {
  f.commit(put(f.pods, "a", "1"));
  const std::string first = f.disk.read(kFirst).value();
  f.disk.fail_next_syncs(1);
  EXPECT_FALSE(f.commit(put(f.pods, "b", "lost")));
  const std::string snapshot = "snapshot-0000000002.snap";
  ASSERT_TRUE(f.simulation.run_until([&] { return std::ranges::count(files(), snapshot) == 1; }));
  EXPECT_EQ(files(), (std::vector<std::string>{kFirst, snapshot}));
  f.kill();
  f.disk.crash();
  f.open();
  EXPECT_EQ(files(), (std::vector<std::string>{kSecond, snapshot}));
  EXPECT_EQ(f.store->snapshot().revision(), 1u);
}

TEST_F(DiskTest, ADamagedSnapshotIsAnErrorUnlessTheLogStillHasEverything) {
  f.commit(put(f.pods, "a", "1"));
  std::string first = f.disk.read(kFirst).value();
  ASSERT_TRUE(f.compact());
  f.commit(put(f.pods, "b", "2"));
  const std::string snapshot = "snapshot-0000000002.snap";
  f.disk.flip_bit(snapshot, 70, 1);
  EXPECT_EQ(open_error(), snapshot + ": damaged at offset 40: no valid group");
  f.disk.put_file(kFirst, first);
  f.kill();
  f.open();
  EXPECT_EQ(f.store->snapshot().count(f.pods), 2u);
  EXPECT_EQ(f.store->snapshot().revision(), 2u);
}

TEST_F(DiskTest, EveryFlippedBitAndEveryCutOfASnapshotIsNoticed) {
  f.commit(std::vector<Write>{put(f.pods, "a", "1"), put(f.nodes, "b", "2")});
  ASSERT_TRUE(f.compact());
  const std::string name = "snapshot-0000000002.snap";
  const std::string whole = f.disk.read(name).value();
  for (std::uint64_t at = 0; at < whole.size(); ++at) {
    f.disk.flip_bit(name, at, static_cast<unsigned>(at));
    ASSERT_NE(open_error(), "opened") << at;
    f.disk.put_file(name, whole.substr(0, at));
    ASSERT_NE(open_error(), "opened") << at;
    f.disk.put_file(name, whole);
  }
  f.disk.put_file(name, whole + "x");
  EXPECT_EQ(open_error(),
            name + ": damaged at offset " + std::to_string(whole.size()) + ": bytes after the end");
}

TEST_F(DiskTest, ANewerFormatIsRefusedAndLeftAlone) {
  f.commit(put(f.pods, "a", "1"));
  for (bool snapshot : {false, true}) {
    if (snapshot) {
      ASSERT_TRUE(f.compact());
    }
    const std::string name = snapshot ? "snapshot-0000000002.snap" : kFirst;
    std::string content = f.disk.read(name).value();
    std::string newer = content;
    newer[8] = 2;
    f.disk.put_file(name, newer);
    std::vector<std::string> before = files();
    EXPECT_EQ(open_error(), name +
                                ": written in format version 2, but this program reads only up to "
                                "version 1; use a newer release");
    EXPECT_EQ(files(), before);
    f.disk.put_file(name, content);
    f.open();
  }
}

TEST_F(DiskTest, LeftoversAreRemovedAndStrangersAreNot) {
  f.commit(put(f.pods, "a", "1"));
  ASSERT_TRUE(f.compact());
  f.disk.put_file(kFirst, "old");
  f.disk.put_file("snapshot-0000000001.snap", "old");
  f.disk.put_file("snapshot-0000000003.tmp", "unfinished");
  f.disk.put_file("notes.txt", "mine");
  f.reopen();
  EXPECT_EQ(files(), (std::vector<std::string>{"notes.txt", kSecond, "snapshot-0000000002.snap"}));
}

// The process dies, then the machine: what the second start relied on must have been made durable.
TEST_F(DiskTest, WhatWasOnlyInTheKernelIsMadeDurableAtStart) {
  f.commit(put(f.pods, "a", "1"));
  std::uint64_t synced = size_of(kFirst);
  f.commit(put(f.pods, "b", "2"));
  std::string whole = f.disk.read(kFirst).value();
  for (int i = 0; i < 50; ++i) {
    f.kill();
    f.disk.put_file(kFirst, whole.substr(0, synced));
    ASSERT_TRUE(f.disk.open_append(kFirst).value()->append(whole.substr(synced)));
    f.open();
    ASSERT_EQ(f.store->snapshot().revision(), 2u);
    f.kill();
    f.disk.crash();
    f.open();
    ASSERT_EQ(f.store->snapshot().revision(), 2u) << i;
  }
}

// The same for names: a snapshot whose renaming only the kernel knows must not cost the log it
// replaces.
TEST_F(DiskTest, ARenameOnlyTheKernelKnowsIsMadeDurableAtStart) {
  f.commit(put(f.pods, "a", "1"));
  std::string first = f.disk.read(kFirst).value();
  ASSERT_TRUE(f.compact());
  const std::string name = "snapshot-0000000002.snap";
  std::string second = f.disk.read(kSecond).value(), snapshot = f.disk.read(name).value();
  for (int i = 0; i < 50; ++i) {
    f.kill();
    ASSERT_TRUE(f.disk.remove(name));
    ASSERT_TRUE(f.disk.sync_directory());
    f.disk.put_file(kFirst, first);
    f.disk.put_file(kSecond, second);
    f.disk.put_file(temporary_name(2), snapshot);
    ASSERT_TRUE(f.disk.rename(temporary_name(2), name));
    f.open();
    ASSERT_EQ(f.store->snapshot().revision(), 1u);
    f.kill();
    f.disk.crash();
    f.open();
    ASSERT_EQ(f.store->snapshot().revision(), 1u) << i;
  }
}

}  // namespace
}  // namespace hekla::store
