#include "kube/decoded.h"

#include <gtest/gtest.h>

#include <boost/describe.hpp>

namespace hekla::kube {
namespace {

struct Shelf {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(Shelf, (), (name))
struct Box {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(Box, (), (name))

TEST(Decoded, IsSharedWhileSomeoneHoldsIt) {
  Decoded slot;
  const std::string text = R"({"name":"a"})";
  Result<std::shared_ptr<const Shelf>> first = slot.get<Shelf>(text);
  ASSERT_TRUE(first);
  EXPECT_EQ(slot.get<Shelf>(text)->get(), first->get());
  std::weak_ptr<const Shelf> gone = *first;
  first->reset();
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ((*slot.get<Shelf>(text))->name, "a");
}

TEST(Decoded, IsOneTypeAndOneText) {
  Decoded slot;
  const std::string text = R"({"name":"a"})", later = R"({"name":"b"})";
  std::shared_ptr<const Shelf> shelf = *slot.get<Shelf>(text);
  EXPECT_EQ((*slot.get<Box>(text))->name, "a");
  EXPECT_EQ((*slot.get<Shelf>(later))->name, "b");
  EXPECT_EQ(shelf->name, "a");
}

struct Named {
  model::ObjectMeta metadata;
  std::string kind;
};
BOOST_DESCRIBE_STRUCT(Named, (), (metadata, kind))

TEST(Decoded, TwoTypesDoNotDisplaceEachOther) {
  Decoded slot;
  const std::string text = R"({"name":"a"})";
  std::shared_ptr<const Shelf> shelf = *slot.get<Shelf>(text);
  std::shared_ptr<const Box> box = *slot.get<Box>(text);
  EXPECT_EQ(slot.get<Shelf>(text)->get(), shelf.get());
  EXPECT_EQ(slot.get<Box>(text)->get(), box.get());
}

TEST(Decoded, MetadataAloneIsThatOfTheWhole) {
  Decoded slot;
  const std::string text = R"({"kind":"Pod","metadata":{"name":"a","uid":"1"}})";
  std::shared_ptr<const model::ObjectMeta> alone = *slot.get<model::ObjectMeta>(text);
  EXPECT_EQ(alone->uid, "1");
  EXPECT_EQ(slot.get<model::ObjectMeta>(text)->get(), alone.get());
  alone.reset();
  std::shared_ptr<const Named> whole = *slot.get<Named>(text);
  alone = *slot.get<model::ObjectMeta>(text);
  EXPECT_EQ(alone.get(), &whole->metadata);
  whole.reset();
  EXPECT_EQ(alone->name, "a");  // and keeps the whole
}

TEST(Decoded, KeepsNoFailure) {
  Decoded slot;
  EXPECT_FALSE(slot.get<Shelf>("{"));
  EXPECT_EQ((*slot.get<Shelf>(R"({"name":"a"})"))->name, "a");
}

}  // namespace
}  // namespace hekla::kube
