// torchtune as TrainJobs run it: what the names of runtimes and arguments mean.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace hekla::model {

// Settings that belong to the runtime.
inline constexpr std::array<std::string_view, 4> kTorchtuneManaged{
    "output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file"};

// `command` is "tune run" and nothing else: the Trainer completes it.
bool is_torchtune(const std::vector<std::string>& command);

// torchtune-llama3.2-1b runs llama3_2/1B; empty for names of another form.
std::string torchtune_model(const std::string& runtime);

struct TorchtuneTuning {
  bool lora = false, quantized = false;
};
TorchtuneTuning read_torchtune_args(const std::vector<std::string>& args);

}  // namespace hekla::model
