#include "json/raw.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::json {
namespace {

TEST(RawMembers, AreTheBytesOfEachMember) {
  const std::string text = serialize(*parse(
      R"({"a":{"b":[1,{"c":"}"}],"d":{}},"e\"f":"x\\","g":[],"h":-1.5e-9,"i":null,"j":"say \"{\"","k":true})"));
  std::string put_together = "{";
  std::vector<std::string> keys;
  for (const RawMember& member : raw_members(text)) {
    if (!keys.empty()) put_together += ',';
    keys.emplace_back(member.key);
    put_together.append("\"").append(member.key).append("\":").append(member.value);
    EXPECT_TRUE(parse(member.value)) << member.value;
  }
  EXPECT_EQ(put_together + "}", text);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "e\\\"f", "g", "h", "i", "j", "k"}));
}

TEST(RawMembers, OfAnEmptyObjectAreNone) { EXPECT_TRUE(raw_members("{}").empty()); }

}  // namespace
}  // namespace hekla::json
