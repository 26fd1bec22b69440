#include "kube/authorizer.h"

#include <gtest/gtest.h>

#include "kube/scripted_client_test.h"
#include "support/sim_executor.h"

namespace hekla::kube {
namespace {

class ReviewTest : public ::testing::Test {
 protected:
  ReviewTest() : executor_(simulation_.add("gateway")), client_(executor_) {}

  void ask(const std::string& user, const std::string& verb) {
    User who{.name = user, .uid = {}, .groups = {"team"}};
    authorizer_.may(who, {verb, resources::pods, {"ns", "p"}}, [this](Result<Decision> answer) {
      answers_.push_back(!answer           ? answer.error().message
                         : answer->allowed ? "yes"
                                           : "no: " + answer->reason);
    });
  }
  void answer(const std::string& status) {
    client_.answer({std::make_shared<const Object>(Object{
        "", "", "", 0, std::make_shared<const std::string>("{\"status\":" + status + "}")})});
  }

  sim::Simulation simulation_{1};
  sim::SimExecutor& executor_;
  ScriptedClient client_;
  ReviewAuthorizer authorizer_{client_, {.answers_max = 2, .waiting_max = 3}};
  std::vector<std::string> answers_;
};

TEST_F(ReviewTest, AsksWhoMayDoWhatToWhich) {
  ask("ann", "get");
  ASSERT_EQ(client_.batches.size(), 1u);
  const Write& write = client_.batches[0][0];
  EXPECT_EQ(write.resource.plural, "subjectaccessreviews");
  EXPECT_EQ(json::serialize(*json::find(write.body, "spec")),
            R"({"user":"ann","groups":["team"],"resourceAttributes":{"verb":"get","group":"",)"
            R"("version":"v1","resource":"pods","namespace":"ns","name":"p"}})");
  answer(R"({"allowed":true})");
  EXPECT_EQ(answers_, std::vector<std::string>{"yes"});
}

TEST_F(ReviewTest, AsksEqualQuestionsOnceAndKeepsAnswersForAMoment) {
  ask("ann", "get");
  ask("ann", "get");
  EXPECT_EQ(client_.batches.size(), 1u);
  answer(R"({"allowed":true})");
  ask("ann", "get");
  EXPECT_EQ(client_.batches.size(), 1u);
  EXPECT_EQ(answers_.size(), 3u);
  simulation_.clock().advance(std::chrono::seconds(5));
  ask("ann", "get");
  EXPECT_EQ(client_.batches.size(), 2u);
  answer(R"({"allowed":false,"reason":"none"})");
  simulation_.clock().advance(std::chrono::seconds(1));
  ask("ann", "get");
  EXPECT_EQ(client_.batches.size(), 3u);
  EXPECT_EQ(answers_.back(), "no: none");
}

TEST_F(ReviewTest, TellsUsersAndVerbsApartAndForgetsTheOldest) {
  for (const char* verb : {"get", "list", "watch"}) {
    ask("ann", verb);
    answer(R"({"allowed":true})");
  }
  EXPECT_EQ(client_.batches.size(), 3u);
  ask("ann", "watch");
  EXPECT_EQ(client_.batches.size(), 3u);
  ask("ann", "get");
  ask("bob", "watch");
  EXPECT_EQ(client_.batches.size(), 5u);
}

TEST_F(ReviewTest, FailsClosed) {
  ask("ann", "get");
  client_.answer({fail(Code::unavailable, "no server")});
  EXPECT_EQ(answers_.back(), "no server");
  ask("ann", "get");  // errors are not kept
  EXPECT_EQ(client_.batches.size(), 2u);
  answer("null");
  EXPECT_EQ(answers_.back(), "a SubjectAccessReview came back without a status");
  ask("ann", "get");
  answer(R"({"allowed":true,"denied":true})");
  EXPECT_EQ(answers_.back(), "no: ");
  for (const char* verb : {"a", "b", "c", "d"}) ask("ann", verb);
  EXPECT_EQ(answers_.back(), "too many questions about access are under way");
}

TEST(ReviewSpec, AsksAboutPathsToo) {
  EXPECT_EQ(json::serialize(review_spec({"ann", "", {}}, {"get", {}, {}, "", "/metrics"})),
            R"({"user":"ann","nonResourceAttributes":{"path":"/metrics","verb":"get"}})");
}

}  // namespace
}  // namespace hekla::kube
