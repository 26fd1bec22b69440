#include "store/store.h"

#include <gtest/gtest.h>

#include "store/store_fixture_test.h"

namespace hekla::store {
namespace {

class StoreTest : public testing::Test {
 protected:
  void SetUp() override { f.open(); }
  std::vector<std::string> keys(const Snapshot& snapshot, std::string_view prefix = "",
                                std::string_view from = "") {
    std::vector<std::string> found;
    snapshot.scan(f.pods, prefix, from, [&](const ItemPtr& item) {
      found.push_back(item->key);
      return true;
    });
    return found;
  }
  StoreFixture f;
};

TEST_F(StoreTest, RevisionsCountWritesFromOne) {
  EXPECT_EQ(f.store->snapshot().revision(), 0u);
  CommitResults results = f.commit(
      std::vector<Write>{put(f.pods, "a", "1"), put(f.nodes, "n", "2"), put(f.pods, "a", "3")});
  ASSERT_EQ(results.size(), 3u);
  for (Revision i = 0; i < 3; ++i) EXPECT_EQ(results[i].value()->modified, i + 1);
  ItemPtr item = f.store->snapshot().get(f.pods, "a");
  EXPECT_EQ(item->value, "3");
  EXPECT_EQ(item->created, 1u);
  EXPECT_EQ(item->modified, 3u);
  EXPECT_EQ(f.store->snapshot().revision(), 3u);
  EXPECT_EQ(f.store->snapshot().count(f.pods), 1u);
}

TEST_F(StoreTest, BucketsHaveStableIds) {
  EXPECT_EQ(f.store->bucket("pods"), f.pods);
  EXPECT_NE(f.pods, f.nodes);
  EXPECT_EQ(f.store->snapshot().get(f.store->bucket("never written"), "a"), nullptr);
  EXPECT_EQ(f.store->snapshot().count(f.store->bucket("never written")), 0u);
}

TEST_F(StoreTest, ASnapshotNeverChanges) {
  f.commit(put(f.pods, "a", "old"));
  Snapshot before = f.store->snapshot();
  f.commit(put(f.pods, "a", "new"));
  f.commit(put(f.pods, "b", "new"));
  EXPECT_EQ(before.get(f.pods, "a")->value, "old");
  EXPECT_EQ(before.get(f.pods, "b"), nullptr);
  EXPECT_EQ(before.revision(), 1u);
}

TEST_F(StoreTest, ScanByPrefixAndStart) {
  for (const char* key : {"ns1/a", "ns1/b", "ns1/c", "ns2/a", "ns10/a"})
    f.commit(put(f.pods, key, ""));
  Snapshot snapshot = f.store->snapshot();
  EXPECT_EQ(keys(snapshot),
            (std::vector<std::string>{"ns1/a", "ns1/b", "ns1/c", "ns10/a", "ns2/a"}));
  EXPECT_EQ(keys(snapshot, "ns1/"), (std::vector<std::string>{"ns1/a", "ns1/b", "ns1/c"}));
  EXPECT_EQ(keys(snapshot, "ns1/", "ns1/aa"), (std::vector<std::string>{"ns1/b", "ns1/c"}));
  EXPECT_EQ(keys(snapshot, "ns1/", "ns0"), (std::vector<std::string>{"ns1/a", "ns1/b", "ns1/c"}));
  EXPECT_EQ(keys(snapshot, "ns1/", "ns2"), (std::vector<std::string>{}));
}

TEST_F(StoreTest, TheRevisionIsSplicedIntoTheValue) {
  Write write = put(f.pods, "a", R"({"resourceVersion":""})");
  write.revision_at = 20;
  for (int i = 0; i < 12; ++i) f.commit(put(f.pods, "x", ""));
  ItemPtr item = f.commit(write).value();
  EXPECT_EQ(item->value, R"({"resourceVersion":"13"})");
  EXPECT_EQ(item->value_with_revision(7), R"({"resourceVersion":"7"})");
  EXPECT_EQ(item->value_with_revision(12345), R"({"resourceVersion":"12345"})");
  EXPECT_EQ(f.commit(put(f.pods, "b", "plain")).value()->value_with_revision(7), "plain");
}

TEST_F(StoreTest, BytesThatFitAreKeptAndOthersCopied) {
  const std::string text = R"({"resourceVersion":"","data":")" + std::string(4000, 'x') + "\"}";
  for (std::size_t spare : {20u, 0u, 1000u}) {
    Write write = put(f.pods, "a", "");
    write.value.reserve(text.size() + spare);
    write.value = text;
    write.revision_at = 20;
    const char* given = write.value.data();
    ItemPtr item = f.commit(std::move(write)).value();
    EXPECT_EQ(item->value, std::string(text).insert(20, std::to_string(item->modified)));
    EXPECT_EQ(item->value.data() == given, spare == 20) << spare;
    EXPECT_LE(item->value.capacity(), item->value.size() + 64) << "an item lives long";
  }
}

TEST_F(StoreTest, ExpectationsAndTheirErrors) {
  f.commit(put(f.pods, "a", "1"));
  auto error = [&](Write write) {
    Result<ItemPtr> result = f.commit(std::move(write));
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  };
  Error exists = error(put(f.pods, "a", "2", kAbsent));
  EXPECT_EQ(exists.code, Code::already_exists);
  EXPECT_EQ(exists.message, "key \"a\" in pods: expected no such key, found revision 1");
  Error missing = error(put(f.pods, "b", "2", kPresent));
  EXPECT_EQ(missing.code, Code::not_found);
  EXPECT_EQ(missing.message, "key \"b\" in pods: expected the key to exist, found nothing");
  Error gone = error(put(f.pods, "b", "2", at_revision(1)));
  EXPECT_EQ(gone.code, Code::not_found);
  EXPECT_EQ(gone.message, "key \"b\" in pods: expected revision 1, found nothing");
  Error conflict = error(put(f.pods, "a", "2", at_revision(7)));
  EXPECT_EQ(conflict.code, Code::conflict);
  EXPECT_EQ(conflict.message, "key \"a\" in pods: expected revision 7, found revision 1");
  EXPECT_EQ(error(removal(f.pods, "b")).code, Code::not_found);
  EXPECT_EQ(error(removal(f.pods, "a", at_revision(2))).code, Code::conflict);
  EXPECT_EQ(f.store->snapshot().revision(), 1u) << "failed writes take no revision";
  EXPECT_TRUE(f.commit(put(f.pods, "b", "", kAbsent)));
  EXPECT_TRUE(f.commit(put(f.pods, "b", "", kPresent)));
  EXPECT_TRUE(f.commit(put(f.pods, "b", "", at_revision(3))));
}

TEST_F(StoreTest, AGuardHoldsAWriteBackWhenAnotherKeyChanged) {
  f.commit(put(f.nodes, "n", "1"));
  Write guarded = put(f.pods, "a", "1", kAbsent);
  guarded.guards = {{f.nodes, "n", at_revision(1)}};
  EXPECT_TRUE(f.commit(guarded));
  f.commit(put(f.nodes, "n", "2"));
  guarded.key = "b";
  Result<ItemPtr> changed = f.commit(guarded);
  EXPECT_EQ(changed.error().code, Code::conflict);
  EXPECT_EQ(changed.error().message, "key \"n\" in nodes: expected revision 1, found revision 3");
  f.commit(removal(f.nodes, "n"));
  EXPECT_EQ(f.commit(guarded).error().code, Code::not_found);
  guarded.key = "a";
  EXPECT_EQ(f.commit(guarded).error().code, Code::already_exists)
      << "its own expectation comes first";
  EXPECT_EQ(f.store->snapshot().count(f.pods), 1u);
  // Earlier writes of the batch count.
  guarded.key = "c";
  guarded.guards = {{f.nodes, "m", kPresent}};
  CommitResults results = f.commit(std::vector<Write>{guarded, put(f.nodes, "m", "1"), guarded});
  EXPECT_FALSE(results[0]);
  EXPECT_TRUE(results[2]);
}

TEST_F(StoreTest, WritesOfABatchStandAloneUnlessAskedOtherwise) {
  f.commit(put(f.pods, "taken", ""));
  auto writes = [&] {
    return std::vector<Write>{put(f.pods, "x", "1", kAbsent), put(f.pods, "taken", "", kAbsent),
                              put(f.pods, "y", "1", kAbsent)};
  };
  CommitResults atomic = f.commit(Batch{writes(), true});
  ASSERT_EQ(atomic.size(), 3u);
  for (const auto& result : atomic) EXPECT_EQ(result.error().code, Code::already_exists);
  EXPECT_EQ(f.store->snapshot().count(f.pods), 1u);
  EXPECT_EQ(f.store->snapshot().revision(), 1u);

  CommitResults alone = f.commit(Batch{writes(), false});
  EXPECT_TRUE(alone[0]);
  EXPECT_FALSE(alone[1]);
  EXPECT_TRUE(alone[2]);
  EXPECT_EQ(alone[2].value()->modified, 3u);
}

TEST_F(StoreTest, AnUndoneBatchLeavesNoTraceInItsGroup) {
  f.commit(std::vector<Write>{put(f.pods, "a", "a0"), put(f.pods, "b", "b0")});
  int answered = 0;
  auto done = [&](CommitResults) { ++answered; };
  ASSERT_TRUE(f.store->commit({{put(f.pods, "first", "1")}, false}, done));
  ASSERT_TRUE(
      f.store->commit({{put(f.pods, "a", "a1"), removal(f.pods, "b"), put(f.pods, "c", "c1"),
                        removal(f.pods, "c"), put(f.pods, "a", "", at_revision(99))},
                       true},
                      done));
  ASSERT_TRUE(f.store->commit({{put(f.pods, "last", "1")}, false}, done));
  f.simulation.run_until_idle();
  ASSERT_EQ(answered, 3);
  for (int pass = 0; pass < 2; ++pass) {
    Snapshot s = f.store->snapshot();
    EXPECT_EQ(keys(s), (std::vector<std::string>{"a", "b", "first", "last"}));
    EXPECT_EQ(s.get(f.pods, "a")->value, "a0");
    EXPECT_EQ(s.get(f.pods, "last")->modified, 4u);
    EXPECT_EQ(s.revision(), 4u);
    if (pass == 0) {
      EXPECT_EQ(f.store->changes_after(f.pods, 2, 100)->size(), 2u);
    }
    f.reopen();
  }
}

TEST_F(StoreTest, LaterWritesOfABatchSeeEarlierOnes) {
  CommitResults results =
      f.commit(Batch{{put(f.pods, "a", "1", kAbsent), removal(f.pods, "a", kPresent),
                      put(f.pods, "a", "2", kAbsent)},
                     true});
  ASSERT_TRUE(results[2]);
  EXPECT_EQ(results[2].value()->created, 3u) << "a key made again is a new key";
}

TEST_F(StoreTest, RemovalShowsTheLastStateWithItsOwnRevision) {
  Write write = put(f.pods, "a", "rv=");
  write.revision_at = 3;
  f.commit(write);
  Write remove = removal(f.pods, "a");
  ItemPtr last = f.commit(remove).value();
  EXPECT_EQ(last->value, "rv=2");
  EXPECT_EQ(last->created, 1u);
  EXPECT_EQ(f.store->snapshot().get(f.pods, "a"), nullptr);

  f.commit(write);
  remove.value = "finally, rv=";
  remove.revision_at = 12;
  EXPECT_EQ(f.commit(remove).value()->value, "finally, rv=4");
  auto changes = f.store->changes_after(f.pods, 2, 10);
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ(changes->at(1).kind, Change::Kind::removed);
  EXPECT_EQ(changes->at(1).item->value, "finally, rv=4");
  EXPECT_EQ(changes->at(1).previous->value, "rv=3");
}

TEST_F(StoreTest, ChangesCarryKindAndPrevious) {
  f.commit(put(f.pods, "a", "1"));
  f.commit(put(f.nodes, "n", "1"));
  f.commit(put(f.pods, "a", "2"));
  auto changes = f.store->changes_after(f.pods, 0, 10);
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ(changes->at(0).kind, Change::Kind::created);
  EXPECT_EQ(changes->at(0).previous, nullptr);
  EXPECT_EQ(changes->at(1).kind, Change::Kind::updated);
  EXPECT_EQ(changes->at(1).revision, 3u);
  EXPECT_EQ(changes->at(1).previous->value, "1");
  EXPECT_EQ(f.store->changes_after(f.pods, 0, 1)->size(), 1u);
}

TEST_F(StoreTest, TheLogIsHistoryAfterAStart) {
  Write a = put(f.pods, "a", "<>");
  a.revision_at = 1;
  for (int i = 0; i < 9; ++i) f.commit(put(f.nodes, "n", std::to_string(i)));
  f.commit(a);                     // 10
  f.commit(a);                     // 11
  f.commit(removal(f.pods, "a"));  // 12
  f.commit(put(f.pods, "b", "x"));
  auto before = f.store->changes_after(f.pods, 0, 10);
  f.reopen();
  auto after = f.store->changes_after(f.pods, 0, 10);
  ASSERT_TRUE(after);
  ASSERT_EQ(after->size(), 4u);
  EXPECT_EQ(f.store->oldest_history(), 0u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(after->at(i).kind, before->at(i).kind);
    EXPECT_EQ(after->at(i).revision, before->at(i).revision);
    EXPECT_EQ(after->at(i).item->value, before->at(i).item->value);
    EXPECT_EQ(after->at(i).item->created, before->at(i).item->created);
    EXPECT_EQ(after->at(i).item->modified, before->at(i).item->modified);
    ASSERT_EQ(after->at(i).previous == nullptr, before->at(i).previous == nullptr);
    if (!after->at(i).previous) continue;
    EXPECT_EQ(after->at(i).previous->value, before->at(i).previous->value);
  }
  EXPECT_EQ(f.store->changes_after(f.nodes, 5, 10)->size(), 4u);
}

TEST_F(StoreTest, TheHistoryAfterAStartKeepsItsLimits) {
  for (int i = 0; i < 20; ++i) f.commit(put(f.pods, "a", std::to_string(i)));
  f.options.history_changes = 5;
  f.reopen();
  EXPECT_EQ(f.store->oldest_history(), 15u);
  EXPECT_FALSE(f.store->changes_after(f.pods, 14, 10));
  EXPECT_EQ(f.store->changes_after(f.pods, 15, 10)->size(), 5u);
}

TEST_F(StoreTest, AWatchCanBeginAtTheSnapshotRecovered) {
  f.commit(put(f.pods, "a", "1"));
  ASSERT_TRUE(f.compact());
  f.reopen();
  EXPECT_EQ(f.store->oldest_history(), 1u);
  EXPECT_EQ(f.store->changes_after(f.pods, 0, 10).error().code, Code::expired);
  EXPECT_TRUE(f.store->changes_after(f.pods, 1, 10)->empty());
  f.commit(put(f.pods, "b", "1"));
  EXPECT_EQ(f.store->changes_after(f.pods, 1, 10)->at(0).item->key, "b");
}

TEST_F(StoreTest, SubscribersHearOfTheirBucketOncePerGroup) {
  int pods = 0, nodes = 0;
  auto pod_token = f.store->subscribe(f.pods, [&] { ++pods; });
  auto node_token = f.store->subscribe(f.nodes, [&] { ++nodes; });
  f.commit(std::vector<Write>{put(f.pods, "a", ""), put(f.pods, "b", "")});
  EXPECT_EQ(pods, 1);
  EXPECT_EQ(nodes, 0);
  f.commit(put(f.pods, "a", "", kAbsent));
  EXPECT_EQ(pods, 1) << "a failed write touches nothing";
  f.commit(put(f.nodes, "n", ""));
  EXPECT_EQ(nodes, 1);
  pod_token = nullptr;
  f.commit(put(f.pods, "c", ""));
  EXPECT_EQ(pods, 1);
}

TEST_F(StoreTest, ChangesAreReadableWhenSubscribersAndCallersHear) {
  Revision at_notify = 0, at_done = 0;
  auto token = f.store->subscribe(f.pods, [&] { at_notify = f.store->snapshot().revision(); });
  ASSERT_TRUE(f.store->commit({{put(f.pods, "a", "")}, false}, [&](CommitResults) {
    EXPECT_EQ(at_notify, 1u);
    at_done = f.store->snapshot().revision();
  }));
  f.simulation.run_until_idle();
  EXPECT_EQ(at_done, 1u);
}

TEST_F(StoreTest, WaitingCommitsBecomeOneGroup) {
  std::uint64_t before = f.disk.operations();
  int answered = 0;
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(f.store->commit({{put(f.pods, std::to_string(i), "")}, false},
                                [&](CommitResults) { ++answered; }));
  EXPECT_EQ(f.committer->queued(), 1u);
  f.simulation.run_until_idle();
  EXPECT_EQ(answered, 50);
  EXPECT_EQ(f.disk.operations() - before, 2u) << "one append, one sync";
}

TEST_F(StoreTest, GroupsAreBoundedButABatchIsNeverSplit) {
  f.options.group_bytes = 1000;
  f.reopen();
  std::uint64_t before = f.disk.operations();
  int answered = 0;
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(f.store->commit({{put(f.pods, std::to_string(i), std::string(400, 'v'))}, false},
                                [&](CommitResults) { ++answered; }));
  ASSERT_TRUE(
      f.store->commit({{put(f.pods, "x", std::string(3000, 'v')), put(f.pods, "y", "")}, false},
                      [&](CommitResults) { ++answered; }));
  f.simulation.run_until_idle();
  EXPECT_EQ(answered, 5);
  EXPECT_EQ(f.disk.operations() - before, 2u * 3);
}

TEST_F(StoreTest, TheQueueIsBounded) {
  f.options.pending_commits = 3;
  f.options.pending_bytes = 1000;
  f.reopen();
  auto offer = [&](std::size_t bytes) {
    return f.store->commit({{put(f.pods, "a", std::string(bytes, 'v'))}, false}, nullptr);
  };
  EXPECT_TRUE(offer(5000)) << "the first fits whatever its size";
  EXPECT_FALSE(offer(1));
  f.simulation.run_until_idle();
  EXPECT_TRUE(offer(1));
  EXPECT_TRUE(offer(1));
  EXPECT_TRUE(offer(1));
  EXPECT_FALSE(offer(1));
  f.simulation.run_until_idle();
  f.committer->refuse_posts(true);
  EXPECT_FALSE(offer(1));
  f.committer->refuse_posts(false);
  EXPECT_TRUE(offer(1));
}

TEST_F(StoreTest, AGiantBatchIsRefused) {
  f.options.batch_bytes = 100;
  f.reopen();
  CommitResults results =
      f.commit(std::vector<Write>{put(f.pods, "a", std::string(40, 'v')), put(f.pods, "b", "")});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].error().code, Code::too_large);
  EXPECT_TRUE(f.commit(put(f.pods, "a", std::string(100 - 31 - 1, 'v'))));
  EXPECT_FALSE(f.commit(put(f.pods, "a", std::string(100 - 31, 'v'))));
}

TEST_F(StoreTest, AnEmptyBatchIsAnswered) {
  EXPECT_TRUE(f.commit(std::vector<Write>{}).empty());
  EXPECT_EQ(f.store->snapshot().revision(), 0u);
}

TEST_F(StoreTest, EverythingIsThereAfterAStart) {
  Write write = put(f.pods, "a", "rv=");
  write.revision_at = 3;
  f.commit(write);
  f.commit(put(f.nodes, std::string("zero\0byte", 9), std::string("\xff\0", 2)));
  f.commit(put(f.pods, "gone", ""));
  f.commit(removal(f.pods, "gone"));
  for (int pass = 0; pass < 3; ++pass) {
    f.reopen();
    Snapshot s = f.store->snapshot();
    EXPECT_EQ(s.revision(), 4u);
    EXPECT_EQ(keys(s), (std::vector<std::string>{"a"}));
    EXPECT_EQ(s.get(f.pods, "a")->value, "rv=1");
    EXPECT_EQ(s.get(f.pods, "a")->value_with_revision(99), "rv=99");
    EXPECT_EQ(s.get(f.nodes, std::string_view("zero\0byte", 9))->value, std::string("\xff\0", 2));
    if (pass == 1) {
      EXPECT_TRUE(f.compact());
    }
  }
  EXPECT_EQ(f.commit(put(f.pods, "b", "")).value()->modified, 5u);
}

struct Length final : Attachment {
  explicit Length(std::size_t n) : length(n) {}
  std::size_t length;
};

TEST_F(StoreTest, AttachmentsAreKeptAndRebuilt) {
  Write write = put(f.pods, "a", "12345");
  write.attachment = std::make_shared<Length>(5);
  ItemPtr item = f.commit(write).value();
  EXPECT_EQ(item->attachment, write.attachment);
  f.commit(put(f.pods, "b", "1"));
  f.commit(put(f.pods, "b", "12"));
  std::vector<std::string> seen;
  f.attacher = [&](std::string_view bucket, const std::string& key, const std::string& value) {
    seen.push_back(std::string(bucket) + "/" + key + "=" + value);
    return std::make_shared<Length>(value.size());
  };
  f.reopen();
  EXPECT_EQ(seen, (std::vector<std::string>{"pods/a=12345", "pods/b=12"}))
      << "live values only, once";
  auto attachment = f.store->snapshot().get(f.pods, "b")->attachment;
  ASSERT_NE(dynamic_cast<const Length*>(attachment.get()), nullptr);
  EXPECT_EQ(static_cast<const Length&>(*attachment).length, 2u);
  auto changes = f.store->changes_after(f.pods, 1, 10);
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ(changes->at(1).item->attachment, attachment);
  for (const AttachmentPtr& replayed :
       {changes->at(0).item->attachment, changes->at(1).previous->attachment}) {
    ASSERT_NE(replayed, nullptr) << "made when it is asked for";
    EXPECT_EQ(static_cast<const Length&>(*replayed).length, 1u);
  }
}

TEST_F(StoreTest, EveryOneOfManyValuesGetsItsOwnAttachment) {
  constexpr std::size_t kMany = 5000;
  std::vector<Write> writes;
  for (std::size_t i = 0; i < kMany; ++i)
    writes.push_back(put(f.pods, std::to_string(i), std::string(i, 'x')));
  f.commit(std::move(writes));
  std::atomic<std::size_t> calls = 0;
  f.attacher = [&](std::string_view, const std::string&, const std::string& value) {
    ++calls;
    return std::make_shared<Length>(value.size());
  };
  f.reopen();
  EXPECT_EQ(calls, kMany);
  Snapshot snapshot = f.store->snapshot();
  EXPECT_EQ(snapshot.count(f.pods), kMany);
  snapshot.scan(f.pods, "", "", [](const ItemPtr& item) {
    EXPECT_EQ(static_cast<const Length&>(*item->attachment).length, std::stoul(item->key));
    return true;
  });
}

TEST_F(StoreTest, MetricsAreKept) {
  Metrics metrics;
  f.metrics = &metrics;
  f.reopen();
  f.commit(std::vector<Write>{put(f.pods, "a", ""), put(f.pods, "b", "")});
  std::string text = metrics.text();
  for (const char* line :
       {"hekla_store_commit_seconds_count 1\n", "hekla_store_group_writes_sum 2\n",
        "hekla_store_revision 2\n", "hekla_store_log_bytes "})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST_F(StoreTest, TasksThatOutliveTheStoreDoNothing) {
  bool answered = false;
  ASSERT_TRUE(
      f.store->commit({{put(f.pods, "a", "")}, false}, [&](CommitResults) { answered = true; }));
  f.store->compact([&](Result<void>) { answered = true; });
  auto token = f.store->subscribe(f.pods, [&] { answered = true; });
  f.store = nullptr;
  EXPECT_TRUE(f.simulation.run_until_idle());
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace hekla::store
