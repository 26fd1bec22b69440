// How far training is, told from a line of its log: what Keras, PyTorch's examples, Lightning,
// XGBoost, Paddle and most home-made loops print.
#pragma once

#include <string>
#include <string_view>

namespace hekla::cli {

struct LogProgress {
  std::string step;  // "epoch 2/5", "step 120"; empty: the line does not tell
  std::string loss;  // "loss 0.3412", "train-rmse 0.12"

  void merge(const LogProgress& newer);  // what the newer line does not tell stays
  std::string text() const;              // "step 120, loss 0.3412"
};

LogProgress progress_in(std::string_view line);

// The line as it may be shown: what a progress bar has overwritten, colours and control characters
// are left out.
std::string shown_line(std::string_view line);

// The module whose import failed, when the line says so: "torch"; else empty.
std::string missing_module(std::string_view line);

}  // namespace hekla::cli
