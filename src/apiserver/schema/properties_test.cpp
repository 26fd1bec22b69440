#include "apiserver/schema/properties.h"

#include <gtest/gtest.h>

#include "apiserver/schema/schema.h"

namespace hekla::apiserver {
namespace {

TEST(SchemaProperties, AreFoundByNameAndComeInItsOrder) {
  SchemaProperties properties;
  EXPECT_TRUE(properties.empty());
  EXPECT_FALSE(properties.contains(""));
  // More names than a byte can tell apart, and some that it cannot: they differ in one letter it
  // does not look at.
  std::vector<std::string> names;
  for (int i = 0; i < 400; ++i) names.push_back("n" + std::to_string(i * 7919 % 1000));
  for (char c : std::string("zyxa")) names.push_back(std::string("pp") + c + "pppp");
  for (const std::string& name : names) properties.emplace(name, std::make_shared<Schema>());
  EXPECT_EQ(properties.size(), names.size());
  EXPECT_TRUE(std::is_sorted(properties.begin(), properties.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
  for (const std::string& name : names) {
    auto found = properties.find(name);
    ASSERT_NE(found, properties.end()) << name;
    EXPECT_EQ(found->first, name);
    EXPECT_FALSE(properties.contains(name + "x"));
  }
}

TEST(SchemaProperties, KeepOrReplace) {
  auto first = std::make_shared<Schema>(), second = std::make_shared<Schema>();
  SchemaProperties properties, others;
  properties.emplace("a", first);
  properties.emplace("a", second);
  EXPECT_EQ(properties.find("a")->second, first);
  properties.insert_or_assign("a", second);
  EXPECT_EQ(properties.find("a")->second, second);
  others["b"] = first;
  others["a"] = first;
  properties.insert(others.begin(), others.end());
  EXPECT_EQ(properties.size(), 2u);
  EXPECT_EQ(properties.find("a")->second, second);
  EXPECT_EQ(properties.find("b")->second, first);
}

}  // namespace
}  // namespace hekla::apiserver
