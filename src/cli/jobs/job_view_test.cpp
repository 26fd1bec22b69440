#include "cli/jobs/job_view.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "json/parse.h"

namespace hekla::cli {
namespace {

JobRef job(const std::string& name, int replicas) {
  const JobKind& kind = *job_kind(kube::resources::vcjobs);
  return {&kind, {"default", name}, "uid-" + name, replicas};
}

// The text that a view has written to a file that it takes for a terminal, or not.
class Shown {
 public:
  explicit Shown(JobViewOptions options, std::vector<JobRef> jobs)
      : out_(::open_memstream(&text_, &size_)), view_(out_, options, std::move(jobs)) {}
  ~Shown() {
    view_.finish();
    std::fclose(out_);
    std::free(text_);
  }
  JobView& view() { return view_; }
  // Since the last look.
  std::string text() {
    std::fflush(out_);
    std::string now(text_ + seen_, size_ - seen_);
    seen_ = size_;
    return now;
  }
  void pod(const std::string& job, const std::string& name, const char* status) {
    model::ObjectMeta metadata;
    metadata.name = name;
    metadata.ns = "default";
    metadata.ownerReferences.push_back(
        {"batch.volcano.sh/v1alpha1", "Job", job, "uid-" + job, true, {}});
    const json::Value value = json::parse(status).value();
    view_.pod_changed({.metadata = metadata,
                       .status = value,
                       .phase = json::string_at(value, {"phase"}),
                       .new_phase = true});
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0, seen_ = 0;
  std::FILE* out_;
  JobView view_;
};

constexpr const char* kPlaced =
    R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}]})";

TEST(JobView, FollowsAGangThroughItsStages) {
  Shown shown({.live = true}, {job("train", 2)});
  shown.view().job_changed(job("train", 2), {.word = "Pending"});
  EXPECT_NE(shown.text().find("gang of 2 waits"), std::string::npos);
  shown.pod("train", "train-w-0", R"({"phase":"Pending"})");
  shown.pod("train", "train-w-1", kPlaced);
  EXPECT_NE(shown.text().find("gang of 2 waits"), std::string::npos);
  shown.pod("train", "train-w-0", kPlaced);
  EXPECT_NE(shown.text().find("starts, 0 of 2 run"), std::string::npos);
  shown.pod("train", "train-w-0", R"({"phase":"Running"})");
  shown.pod("train", "train-w-1", R"({"phase":"Running"})");
  EXPECT_NE(shown.text().find("2 of 2 run"), std::string::npos);
  shown.view().log_line("train-w-0", "epoch 1/3 loss 4.0");
  shown.view().log_line("train-w-0", "epoch 2/3 loss 0.5");
  shown.view().tick();
  const std::string text = shown.text();
  EXPECT_NE(text.find("train-w-0 | epoch 1/3 loss 4.0\n"), std::string::npos);
  EXPECT_NE(text.find("epoch 2/3, loss 0.5  █▁"), std::string::npos) << text;
  shown.view().job_changed(job("train", 2),
                           {.word = "Completed", .ended = true, .succeeded = true});
  EXPECT_NE(shown.text().find("✓ Completed"), std::string::npos);
}

TEST(JobView, SaysWhyAJobWaits) {
  Shown shown({.live = true}, {job("big", 1)});
  shown.view().job_changed(job("big", 1), {.word = "Pending"});
  shown.view().explained(job("big", 1), "a pod asks for 64 cpu\n-> ask for less per pod");
  const std::string text = shown.text();
  EXPECT_NE(text.find("    a pod asks for 64 cpu\n    -> ask for less per pod\n"),
            std::string::npos)
      << text;
}

TEST(JobView, SpeaksInPlainLinesWithoutATerminal) {
  Shown shown({}, {job("train", 1)});
  shown.view().job_changed(job("train", 1), {.word = "Running"});
  shown.pod("train", "train-w-0",
            R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]})");
  shown.view().log_line("train-w-0", "ModuleNotFoundError: No module named 'torch'");
  shown.view().tick();
  EXPECT_EQ(shown.text(),
            "job train: Running\nw-0: Failed (exit code 3)\n"
            "w-0 | ModuleNotFoundError: No module named 'torch'\n");
  EXPECT_EQ(shown.view().missing(), "torch");
  EXPECT_EQ(shown.view().last_words(), "w-0 | ModuleNotFoundError: No module named 'torch'\n");
}

}  // namespace
}  // namespace hekla::cli
