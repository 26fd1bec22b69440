// Pulling images, and another image for a container that runs.
#include <algorithm>

#include "agent/pod/worker/pod_worker_fixture_test.h"

namespace hekla::agent {
namespace {

TEST_F(PodWorkerTest, AnotherImageIsAnotherRunWhateverThePolicy) {
  context_.images = ImageMap::parse({"*=host"}).value();
  begin("Never", "", "host");
  calls();
  change(R"({"spec":{"containers":[{"name":"c","image":"host:2","command":["x"]}]}})");
  EXPECT_EQ(calls(), "TERM");
  exit(143);
  EXPECT_EQ(calls(), "remove c, launch c#1");
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(container().restartCount, 1);
  EXPECT_TRUE(has_event("Killing", "Container c definition changed, will be restarted"));
}

TEST_F(PodWorkerTest, AnotherImageEndsTheBackOff) {
  context_.images = ImageMap::parse({"*=host"}).value();
  begin("Always", "", "host");
  for (int i = 0; i < 3; ++i) {
    exit(1);
    pass(seconds(60));
  }
  exit(1);
  EXPECT_EQ(container().state.waiting->reason, "CrashLoopBackOff");
  calls();
  change(R"({"spec":{"containers":[{"name":"c","image":"host:2","command":["x"]}]}})");
  EXPECT_EQ(calls(), "launch c#4");
  exit(1);
  EXPECT_EQ(calls(), "remove c, launch c#5") << "as if for the first time";
}

TEST_F(PodWorkerTest, ANameThatStandsForARecipeIsBuilt) {
  context_.usual_images =
      ImageMap::parse({"pytorch/*=pytorch, workdir=/w, env=A=map, entrypoint=[\"/mine\"]"}).value();
  begin("Never", "", "docker.io/pytorch/pytorch:2");
  EXPECT_TRUE(has_event(
      "Building", "Building image \"docker.io/pytorch/pytorch:2\" by a recipe: downloads much"));
  EXPECT_EQ(container().state.waiting->reason, "ErrImagePull");
  EXPECT_EQ(container().state.waiting->message, "no such package");
  machine_.images["pytorch"] = {"hekla.io/pytorch:py",
                                "sha256:1",
                                "hekla.io/pytorch@sha256:1",
                                7,
                                {"l"},
                                {"", "/srv", {"PATH=/p", "A=image"}, {"/entry"}, {"arg"}}};
  pass(seconds(11));
  pass(seconds(11));
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(container().imageID, "hekla.io/pytorch@sha256:1");
  EXPECT_EQ(machine_.cwd, "/w");
}

TEST_F(PodWorkerTest, AnImageThatIsHereComesBeforeARecipe) {
  context_.usual_images = ImageMap::parse({"nginx*=pytorch"}).value();
  machine_.images["docker.io/library/nginx:1.25"] = {
      "docker.io/library/nginx:1.25",  "sha256:1", "docker.io/library/nginx@sha256:1", 7, {"l"},
      {"", "/srv", {}, {"/entry"}, {}}};
  begin("Never", "", "nginx:1.25");
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(container().imageID, "docker.io/library/nginx@sha256:1");
}

TEST_F(PodWorkerTest, AMappingComesBeforeTheUsualOne) {
  context_.images = ImageMap::parse({"nginx*=registry"}).value();
  context_.usual_images = ImageMap::parse({"nginx*=pytorch"}).value();
  begin("Never", "", "nginx:1.25");
  EXPECT_TRUE(has_event("Pulling", "Pulling image \"nginx:1.25\""));
}

TEST_F(PodWorkerTest, AnImageThatCannotBePulledIsTriedAgain) {
  begin("Never", "", "nginx:1.25");
  EXPECT_EQ(container().state.waiting->reason, "ErrImagePull");
  EXPECT_EQ(container().state.waiting->message, "no such image");
  EXPECT_TRUE(has_event("Pulling", "Pulling image \"nginx:1.25\""));
  EXPECT_TRUE(has_event("Failed", "Failed to pull image \"nginx:1.25\": no such image"));
  EXPECT_TRUE(has_event("Failed", "Error: ErrImagePull"));
  pass(seconds(11));
  EXPECT_EQ(container().state.waiting->reason, "ImagePullBackOff");
  EXPECT_EQ(container().state.waiting->message,
            "Back-off pulling image \"nginx:1.25\": ErrImagePull: no such image");
  EXPECT_EQ(phase(), "Pending");
  machine_.registry["docker.io/library/nginx:1.25"] = {
      "docker.io/library/nginx:1.25",
      "sha256:1",
      "docker.io/library/nginx@sha256:1",
      7,
      {"l"},
      {"", "/srv", {"PATH=/p", "A=image"}, {"/entry"}, {"arg"}}};
  pass(seconds(11));
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(container().imageID, "docker.io/library/nginx@sha256:1");
  EXPECT_EQ(machine_.cwd, "/srv");
  EXPECT_EQ(std::ranges::count(machine_.env, "PATH=/p"), 1);
}

TEST_F(PodWorkerTest, NoEndWaitsForAPull) {
  machine_.endless_pulls = true;
  begin("Never", "", "nginx:1.25");
  EXPECT_EQ(phase(), "Pending");
  change(
      R"({"metadata":{"deletionTimestamp":"2023-11-14T22:13:30Z","deletionGracePeriodSeconds":30}})");
  pass(seconds(1));
  EXPECT_EQ(calls(), "sandbox, pull docker.io/library/nginx:1.25, erase, release");
  EXPECT_TRUE(node_.gone);
}

TEST_F(PodWorkerTest, ADeadlineEndsAPodThatStillPulls) {
  machine_.endless_pulls = true;
  begin("Never", R"("activeDeadlineSeconds":5,)", "nginx:1.25");
  pass(seconds(6));
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "DeadlineExceeded");
}

TEST_F(PodWorkerTest, AnImageNameThatIsNoneIsNotAskedFor) {
  begin("Never", "", "No Image");
  EXPECT_EQ(container().state.waiting->reason, "InvalidImageName");
  EXPECT_TRUE(has_event("InspectFailed",
                        "Failed to apply default image tag \"No Image\": couldn't parse image name "
                        "\"No Image\": invalid reference format: repository name (No Image) must "
                        "be lowercase"));
}

}  // namespace
}  // namespace hekla::agent
