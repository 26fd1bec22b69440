#include "store/restoration.h"

#include "store/backup.h"
#include "store/store_fixture_test.h"

namespace hekla::store {
namespace {

std::string whole(Store& store) {
  std::string file;
  std::unique_ptr<BackupSource::Backup> backup = backup_source(store).backup();
  for (std::string piece = backup->next(); !piece.empty(); piece = backup->next()) file += piece;
  return file;
}

Write versioned(BucketId bucket, std::string key, std::string text) {
  Write write = put(bucket, std::move(key), "rev=;" + std::move(text));
  write.revision_at = 4;
  return write;
}

class RestorationTest : public testing::Test {
 protected:
  void SetUp() override { f.open(); }
  StoreFixture f;
};

TEST_F(RestorationTest, BringsBackWhatWasAndRevisionsGoOn) {
  f.commit({versioned(f.pods, "same", "1"), versioned(f.pods, "changed", "1"),
            versioned(f.pods, "gone", "1")});
  f.commit(
      put(f.nodes, std::string(2u << 20, 'k'), std::string(2u << 20, 'v')));  // more than a piece
  const std::string file = whole(*f.store);
  f.commit(
      {versioned(f.pods, "changed", "2"), removal(f.pods, "gone"), versioned(f.pods, "new", "1")});
  const BucketId later = f.store->bucket("later");
  f.commit(put(later, "x", "y"));
  const Revision before = f.store->snapshot().revision();

  Result<Batch> batch = backup_source(*f.store).restoration(file);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->writes.size(), 4u);
  for (const Result<ItemPtr>& result : f.commit(std::move(*batch))) EXPECT_TRUE(result.has_value());
  for (int start = 0; start < 2; ++start) {
    const Snapshot now = f.store->snapshot();
    EXPECT_EQ(now.revision(), before + 4);
    EXPECT_EQ(now.get(f.pods, "same")->value, "rev=1;1");
    EXPECT_EQ(now.get(f.pods, "changed")->value,
              "rev=" + std::to_string(now.get(f.pods, "changed")->modified) + ";1");
    EXPECT_GT(now.get(f.pods, "gone")->modified, before);
    EXPECT_EQ(now.get(f.pods, "new"), nullptr);
    EXPECT_EQ(now.count(f.store->bucket("later")), 0u);
    EXPECT_EQ(now.count(f.nodes), 1u);
    f.reopen();
  }
}

TEST_F(RestorationTest, IntoAnEmptyStoreAndTwice) {
  f.attacher = [](std::string_view, const std::string& key, const std::string&) {
    struct Named final : Attachment {
      explicit Named(std::string text) : name(std::move(text)) {}
      std::string name;
    };
    return std::make_shared<Named>(key);
  };
  f.commit({versioned(f.pods, "a", "1"), put(f.nodes, "n", "2")});
  const std::string file = whole(*f.store);
  StoreFixture other(7);
  other.attacher = f.attacher;
  other.open();
  Batch batch = backup_source(*other.store).restoration(file).value();
  ASSERT_EQ(batch.writes.size(), 2u);
  for (const Write& write : batch.writes) EXPECT_NE(write.attachment, nullptr);
  other.commit(std::move(batch));
  EXPECT_EQ(backup_source(*other.store).restoration(file)->writes.size(), 0u);
}

TEST_F(RestorationTest, DamageIsFoundBeforeAnythingHappens) {
  f.commit(put(f.pods, "a", "1"));
  std::string file = whole(*f.store);
  EXPECT_FALSE(backup_source(*f.store).restoration(file.substr(0, file.size() - 1)));
  file[60] = static_cast<char>(file[60] ^ 1);
  Result<Batch> damaged = backup_source(*f.store).restoration(file);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().message, "the backup: damaged at offset 40: no valid group");
  EXPECT_FALSE(backup_source(*f.store).restoration("something else"));
}

}  // namespace
}  // namespace hekla::store
