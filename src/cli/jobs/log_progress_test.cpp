#include "cli/jobs/log_progress.h"

#include <gtest/gtest.h>

namespace hekla::cli {
namespace {

TEST(LogProgress, ReadsWhatTrainersPrint) {
  auto text = [](std::string_view line) { return progress_in(line).text(); };
  EXPECT_EQ(text("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.302585"), "epoch 1, loss 2.302585");
  EXPECT_EQ(text("Epoch 2/5"), "epoch 2/5");
  EXPECT_EQ(text("937/937 [====] - 3s 3ms/step - loss: 0.2541 - accuracy: 0.92"), "loss 0.2541");
  EXPECT_EQ(text("step=120 loss=1e-3 lr=0.1"), "step 120, loss 1e-3");
  EXPECT_EQ(text("INFO:tensorflow:global_step/sec: 12.5"), "");
  EXPECT_EQ(text("INFO:tensorflow:loss = 0.31, step = 400 (0.5 sec)"), "step 400, loss 0.31");
  EXPECT_EQ(text("[7]\ttrain-rmse:0.31250\teval-rmse:0.4"), "round 7, train-rmse 0.31250");
  EXPECT_EQ(text("Iteration 30/100, Loss: nan"), "iteration 30/100");
  EXPECT_EQ(text("the footstep 3 was glossy 4"), "");
  EXPECT_EQ(text(""), "");
}

TEST(LogProgress, KeepsWhatANewerLineDoesNotTell) {
  LogProgress progress = progress_in("epoch 1");
  progress.merge(progress_in("loss: 2.5"));
  progress.merge(progress_in("hello"));
  EXPECT_EQ(progress.text(), "epoch 1, loss 2.5");
}

TEST(LogProgress, ShowsOneCleanLine) {
  EXPECT_EQ(shown_line("10%|#\r20%|##\r"), "20%|##");
  EXPECT_EQ(shown_line("\x1b[31mred\x1b[0m\tand\x07 plain"), "red and plain");
  EXPECT_EQ(shown_line("ab\b\bc"), "c");
  EXPECT_EQ(shown_line("\x1b["), "");
}

TEST(LogProgress, NamesTheMissingModule) {
  EXPECT_EQ(missing_module("ModuleNotFoundError: No module named 'torch'"), "torch");
  EXPECT_EQ(missing_module("/usr/bin/python3: No module named torch.distributed"), "torch");
  EXPECT_EQ(missing_module("ModuleNotFoundError: No module named 'tensorflow.keras'"),
            "tensorflow");
  EXPECT_EQ(missing_module("all is well"), "");
}

}  // namespace
}  // namespace hekla::cli
