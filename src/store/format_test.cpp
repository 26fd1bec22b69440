#include "store/format.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace hekla::store {
namespace {

constexpr std::uint64_t kSalt = 0x1122334455667788;

Record sample(Revision revision) {
  return {revision,
          revision - 1,
          3,
          Write::Op::put,
          "pods",
          "default/a",
          "{\"resourceVersion\":\"7\"}"};
}

std::string file_with_groups(int groups) {
  std::string file = encode_header(FileKind::segment, {1, 0, kSalt});
  for (int i = 0; i < groups; ++i) {
    GroupBuilder group;
    group.add(sample(static_cast<Revision>(2 * i + 1)));
    group.add(sample(static_cast<Revision>(2 * i + 2)));
    file += group.seal(kSalt, file.size(), static_cast<Revision>(2 * i + 1));
  }
  return file;
}

TEST(Format, HeaderRoundTrip) {
  std::string bytes = encode_header(FileKind::snapshot, {7, 42, kSalt});
  ASSERT_EQ(bytes.size(), kFileHeaderBytes);
  EXPECT_EQ(bytes.substr(0, 8), "HEKLASNP");
  auto header = decode_header(FileKind::snapshot, bytes, "f");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->sequence, 7u);
  EXPECT_EQ(header->base, 42u);
  EXPECT_EQ(header->salt, kSalt);
  EXPECT_FALSE(decode_header(FileKind::segment, bytes, "f"));
}

TEST(Format, EveryFlippedBitOfAHeaderIsNoticed) {
  std::string good = encode_header(FileKind::segment, {7, 42, kSalt});
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_header(FileKind::segment, bad, "f")) << bit;
  }
}

TEST(Format, NewerVersionIsNamed) {
  std::string bytes = encode_header(FileKind::segment, {1, 0, kSalt});
  bytes[8] = 2;
  auto header = decode_header(FileKind::segment, bytes, "segment-0000000001.log");
  ASSERT_FALSE(header);
  EXPECT_EQ(
      header.error().message,
      "segment-0000000001.log: written in format version 2, but this program reads only up to "
      "version 1; use a newer release");
}

TEST(Format, Names) {
  EXPECT_EQ(file_name(FileKind::segment, 7), "segment-0000000007.log");
  EXPECT_EQ(file_name(FileKind::snapshot, 12345678901), "snapshot-12345678901.snap");
  EXPECT_EQ(sequence_of(FileKind::segment, "segment-0000000007.log"), 7u);
  EXPECT_EQ(sequence_of(FileKind::snapshot, "snapshot-12345678901.snap"), 12345678901u);
  for (const char* other :
       {"segment-7.log", "segment-0000000007.snap", "segment-.log", "segment-00000000x7.log",
        "snapshot-0000000007.tmp", "segment-99999999999999999999999.log", ""})
    EXPECT_FALSE(sequence_of(FileKind::segment, other)) << other;
  EXPECT_TRUE(is_temporary(temporary_name(3)));
  EXPECT_FALSE(is_temporary("notes.tmp"));
}

TEST(Format, RecordsRoundTrip) {
  GroupBuilder group;
  group.add(sample(9));
  group.add({10, 4, Item::kNoRevision, Write::Op::remove, "", std::string_view("\0k", 2), ""});
  std::string bytes(group.seal(kSalt, 100, 9));
  std::string file = std::string(100, 'x') + bytes;
  auto view = read_group(file, 100, kSalt);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->first, 9u);
  EXPECT_EQ(view->count, 2u);
  EXPECT_EQ(view->bytes(), bytes.size());
  std::string_view rest = view->records;
  Record record;
  ASSERT_TRUE(take_record(rest, record));
  EXPECT_EQ(record.revision, 9u);
  EXPECT_EQ(record.created, 8u);
  EXPECT_EQ(record.revision_at, 3u);
  EXPECT_EQ(record.bucket, "pods");
  EXPECT_EQ(record.key, "default/a");
  EXPECT_EQ(record.value, sample(9).value);
  ASSERT_TRUE(take_record(rest, record));
  EXPECT_EQ(record.op, Write::Op::remove);
  EXPECT_EQ(record.key, std::string_view("\0k", 2));
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(take_record(rest, record));
}

TEST(Format, AGroupIsValidOnlyInItsPlace) {
  GroupBuilder group;
  group.add(sample(1));
  std::string file = std::string(10, 'x') + std::string(group.seal(kSalt, 10, 1));
  EXPECT_TRUE(read_group(file, 10, kSalt));
  EXPECT_FALSE(read_group(file, 10, kSalt + 1));
  EXPECT_FALSE(read_group("x" + file, 11, kSalt));
  EXPECT_FALSE(read_group(file, file.size(), kSalt));
  EXPECT_FALSE(read_group(file, file.size() + 1, kSalt));
}

TEST(Format, EveryFlippedBitAndEveryCutOfAGroupIsNoticed) {
  GroupBuilder group;
  group.add(sample(1));
  const std::string good(group.seal(kSalt, 0, 1));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(read_group(bad, 0, kSalt)) << bit;
  }
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_FALSE(read_group(good.substr(0, n), 0, kSalt));
}

TEST(Format, FindGroupSkipsLookalikes) {
  std::string file = file_with_groups(3);
  auto first = read_group(file, kFileHeaderBytes, kSalt);
  ASSERT_TRUE(first);
  std::uint64_t second = kFileHeaderBytes + first->bytes();
  EXPECT_EQ(find_group(file, kFileHeaderBytes + 1, kSalt), second);
  file.replace(second + 30, 4, "GRUP");  // damages the second and looks like the start of one
  std::uint64_t third = second + first->bytes();
  EXPECT_EQ(find_group(file, kFileHeaderBytes + 1, kSalt), third);
  EXPECT_FALSE(find_group(file, third + 1, kSalt));
}

TEST(Format, RewindTakesRecordsBack) {
  GroupBuilder group, once;
  group.add(sample(1));
  once.add(sample(1));
  GroupBuilder::Mark mark = group.mark();
  group.add(sample(2));
  group.rewind(mark);
  EXPECT_EQ(group.count(), 1u);
  EXPECT_EQ(group.seal(kSalt, 0, 1), once.seal(kSalt, 0, 1));
}

}  // namespace
}  // namespace hekla::store
