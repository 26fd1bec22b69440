#include "store/tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "base/clock.h"

namespace hekla::store {
namespace {

using Model = std::map<std::string, Revision>;

ItemPtr item(const std::string& key, Revision revision) {
  auto item = std::make_shared<Item>();
  item->key = key;
  item->modified = revision;
  return item;
}

Model contents(const Tree& tree, std::string_view from = "") {
  Model found;
  std::string last;
  tree.scan(from, [&](const ItemPtr& item) {
    EXPECT_TRUE(found.empty() || last < item->key) << "out of order: " << item->key;
    last = item->key;
    found[item->key] = item->modified;
    return true;
  });
  return found;
}

std::string key_of(unsigned n) {
  std::string digits = std::to_string(n);
  return "namespace/object-" + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') +
         digits;
}

TEST(Tree, EmptyHasNothing) {
  Tree tree;
  EXPECT_EQ(tree.get("a"), nullptr);
  EXPECT_EQ(tree.erase("a", 1), nullptr);
  EXPECT_EQ(tree.size(), 0u);
  EXPECT_TRUE(contents(tree).empty());
}

TEST(Tree, PutReturnsWhatItReplaces) {
  Tree tree;
  EXPECT_EQ(tree.put(item("a", 1), 1), nullptr);
  ItemPtr replaced = tree.put(item("a", 2), 1);
  ASSERT_NE(replaced, nullptr);
  EXPECT_EQ(replaced->modified, 1u);
  EXPECT_EQ(tree.get("a")->modified, 2u);
  EXPECT_EQ(tree.size(), 1u);
}

TEST(Tree, ScanStartsAtTheFirstKeyNotBelow) {
  Tree tree;
  for (unsigned n = 0; n < 1000; n += 2) tree.put(item(key_of(n), n), 1);
  std::vector<Revision> seen;
  tree.scan(key_of(501), [&](const ItemPtr& item) {
    seen.push_back(item->modified);
    return seen.size() < 3;
  });
  EXPECT_EQ(seen, (std::vector<Revision>{502, 504, 506}));
}

TEST(Tree, AscendingAndDescendingLoads) {
  Tree up, down;
  for (unsigned n = 0; n < 5000; ++n) up.put(item(key_of(n), n), 1);
  for (unsigned n = 5000; n-- > 0;) down.put(item(key_of(n), n), 1);
  EXPECT_EQ(contents(up), contents(down));
  EXPECT_EQ(contents(up).size(), 5000u);
}

TEST(Tree, ErasingEverythingLeavesAnEmptyTree) {
  Tree tree;
  for (unsigned n = 0; n < 3000; ++n) tree.put(item(key_of(n), n), 1);
  Tree full = tree;
  for (unsigned n = 0; n < 3000; ++n) {
    unsigned k = n * 1103 % 3000;  // 1103 is prime to 3000: every key once
    ASSERT_NE(tree.erase(key_of(k), 2), nullptr) << k;
  }
  EXPECT_EQ(tree.size(), 0u);
  EXPECT_TRUE(contents(tree).empty());
  EXPECT_EQ(contents(full).size(), 3000u);
}

// The law: under any sequence of edits, in rounds of any length, a tree equals a std::map, and
// every copy taken between rounds stays what it was.
void behaves_like_a_map(unsigned key_space) {
  struct Op {
    unsigned key;
    bool erase;
  };
  auto rounds =
      *rc::gen::container<std::vector<std::vector<Op>>>(rc::gen::container<std::vector<Op>>(
          rc::gen::construct<Op>(rc::gen::inRange(0u, key_space), rc::gen::arbitrary<bool>())));
  Tree tree;
  Model model;
  std::vector<std::pair<Tree, Model>> kept;
  Stamp stamp = 0;
  Revision revision = 0;
  for (const auto& round : rounds) {
    ++stamp;
    for (const Op& op : round) {
      std::string key = key_of(op.key);
      ++revision;
      if (op.erase) {
        ItemPtr erased = tree.erase(key, stamp);
        RC_ASSERT((erased != nullptr) == (model.erase(key) == 1));
      } else {
        ItemPtr replaced = tree.put(item(key, revision), stamp);
        RC_ASSERT((replaced != nullptr) == model.contains(key));
        model[key] = revision;
      }
      RC_ASSERT((tree.get(key) != nullptr) == model.contains(key));
    }
    RC_ASSERT(tree.size() == model.size());
    if (stamp % 8 == 0) kept.emplace_back(tree, model);
  }
  kept.emplace_back(tree, model);
  std::string from = key_of(key_space / 2);
  for (const auto& [old_tree, old_model] : kept) {
    RC_ASSERT(contents(old_tree) == old_model);
    RC_ASSERT(contents(old_tree, from) == Model(old_model.lower_bound(from), old_model.end()));
  }
}

TEST(TreeLaw, FewKeys) {
  EXPECT_TRUE(rc::check("a tree of few keys is a map", [] { behaves_like_a_map(40); }));
}

TEST(TreeLaw, ManyKeys) {
  EXPECT_TRUE(rc::check("a tree of many keys is a map", [] { behaves_like_a_map(100000); }));
}

// Deep trees: rapidcheck's sequences are too short to grow three levels and shrink them again.
TEST(TreeLaw, GrowsAndShrinksThroughSeveralLevels) {
  Tree tree;
  Model model;
  std::uint64_t random = 88172645463325252ULL;
  auto next = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  };
  std::vector<std::pair<Tree, Model>> kept;
  for (int round = 0; round < 40; ++round) {
    bool growing = round % 20 < 10;
    for (int i = 0; i < 400; ++i) {
      std::string key = key_of(static_cast<unsigned>(next() % 4000));
      Revision revision = static_cast<Revision>(round * 1000 + i);
      if (growing || next() % 8 == 0) {
        tree.put(item(key, revision), static_cast<Stamp>(round + 1));
        model[key] = revision;
      } else {
        auto at = model.lower_bound(key);
        if (at == model.end()) continue;
        ASSERT_NE(tree.erase(at->first, static_cast<Stamp>(round + 1)), nullptr);
        model.erase(at);
      }
    }
    ASSERT_EQ(contents(tree), model) << "round " << round;
    if (round % 5 == 0) kept.emplace_back(tree, model);
  }
  for (const auto& [old_tree, old_model] : kept) EXPECT_EQ(contents(old_tree), old_model);
}

}  // namespace
}  // namespace hekla::store
