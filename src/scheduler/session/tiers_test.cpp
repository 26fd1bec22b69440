#include "scheduler/session/tiers.h"

#include <gtest/gtest.h>

namespace hekla::scheduler {
namespace {

// Plugins that are only numbers to index prepared answers by.
class Nobody final : public Plugin {
 public:
  Hooks hooks() const override { return {}; }
};

template <class Answer>
struct Case {
  std::vector<std::vector<Answer>> tiers;
  mutable std::size_t asked = 0;

  template <class Rule>
  auto evaluate_as() const {
    std::vector<std::unique_ptr<Nobody>> owners;
    TieredPlugins plugins;
    std::map<const Plugin*, Answer> answers;
    for (const auto& tier : tiers) {
      plugins.emplace_back();
      for (const Answer& answer : tier) {
        owners.push_back(std::make_unique<Nobody>());
        plugins.back().push_back(owners.back().get());
        answers.emplace(owners.back().get(), answer);
      }
    }
    asked = 0;
    return evaluate<Rule>(plugins, [&](Plugin& plugin) {
      ++asked;
      return answers.at(&plugin);
    });
  }
};

constexpr Vote kYes = Vote::permit, kNo = Vote::reject, kSilent = Vote::abstain;

TEST(Tiers, OrdersTakeTheFirstDecisiveAnswer) {
  EXPECT_EQ((Case<int>{{{0, 0}, {0, 1}, {-1}}}.evaluate_as<FirstDecisive>()), 1);
  EXPECT_EQ((Case<int>{{{0}, {0}}}.evaluate_as<FirstDecisive>()), 0);
  Case<int> settled{{{-1, 1}, {1}}};
  EXPECT_EQ(settled.evaluate_as<FirstDecisive>(), -1);
  EXPECT_EQ(settled.asked, 1u);
}

TEST(Tiers, UnanimityAndOneVoice) {
  EXPECT_TRUE((Case<bool>{{}}.evaluate_as<Unanimous>()));
  EXPECT_FALSE((Case<bool>{{{true}, {true, false}}}.evaluate_as<Unanimous>()));
  EXPECT_FALSE((Case<bool>{{}}.evaluate_as<AnyOne>()));
  EXPECT_TRUE((Case<bool>{{{false}, {false, true}}}.evaluate_as<AnyOne>()));
}

TEST(Tiers, VotesRejectAtOnceAndPermitByTier) {
  EXPECT_TRUE((Case<Vote>{{}}.evaluate_as<TierVote>()));
  EXPECT_TRUE((Case<Vote>{{{kSilent}, {kSilent}}}.evaluate_as<TierVote>()));
  // A rejection beats a permit of the same tier, whichever comes first.
  EXPECT_FALSE((Case<Vote>{{{kYes, kNo}}}.evaluate_as<TierVote>()));
  EXPECT_FALSE((Case<Vote>{{{kNo, kYes}}}.evaluate_as<TierVote>()));
  // A permit in an upper tier is not contradicted by a lower one: why sla must stand above.
  Case<Vote> upper{{{kSilent, kYes}, {kNo}}};
  EXPECT_TRUE(upper.evaluate_as<TierVote>());
  EXPECT_EQ(upper.asked, 2u);
  EXPECT_FALSE((Case<Vote>{{{kSilent}, {kNo}}}.evaluate_as<TierVote>()));
}

TEST(Tiers, StarvingNeedsAllOfTheFirstTierThatAnswers) {
  EXPECT_FALSE((Case<bool>{{}}.evaluate_as<FirstTierUnanimous>()));
  EXPECT_FALSE((Case<bool>{{{true, false}, {true}}}.evaluate_as<FirstTierUnanimous>()));
  Case<bool> first{{{true, true}, {false}}};
  EXPECT_TRUE(first.evaluate_as<FirstTierUnanimous>());
  EXPECT_EQ(first.asked, 2u);
}

Victims of(std::initializer_list<int> ids) {
  Victims out;
  for (int id : ids) out.tasks.push_back(TaskId(static_cast<std::size_t>(id)));
  return out;
}
const Victims kAbstain{true, {}};

TEST(Tiers, VictimsAreIntersectedWithinATierAndTheFirstNonEmptyTierDecides) {
  EXPECT_EQ(
      (Case<Victims>{{{of({1, 2, 3}), of({2, 3, 4})}, {of({9})}}}.evaluate_as<TierIntersection>()),
      of({2, 3}).tasks);
  // Abstaining does not narrow; an empty answer empties the tier.
  EXPECT_EQ((Case<Victims>{{{kAbstain, of({1, 2})}}}.evaluate_as<TierIntersection>()),
            of({1, 2}).tasks);
  EXPECT_EQ((Case<Victims>{{{of({}), of({1})}, {of({5})}}}.evaluate_as<TierIntersection>()),
            of({5}).tasks);
  EXPECT_EQ((Case<Victims>{{{kAbstain}, {of({5, 6})}}}.evaluate_as<TierIntersection>()),
            of({5, 6}).tasks);
  // A tier whose plugins have nothing in common decides nothing; the next starts anew.
  EXPECT_EQ((Case<Victims>{{{of({1}), of({2})}, {of({1, 3})}}}.evaluate_as<TierIntersection>()),
            of({1, 3}).tasks);
  EXPECT_TRUE(
      (Case<Victims>{{{of({1}), of({2}), of({1})}}}.evaluate_as<TierIntersection>()).empty());
}

}  // namespace
}  // namespace hekla::scheduler
