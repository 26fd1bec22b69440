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

TEST(Decoded, KeepsNoFailure) {
  Decoded slot;
  EXPECT_FALSE(slot.get<Shelf>("{"));
  EXPECT_EQ((*slot.get<Shelf>(R"({"name":"a"})"))->name, "a");
}

}  // namespace
}  // namespace hekla::kube
