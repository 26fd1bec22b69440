#include "model/torchtune.h"

#include <algorithm>
#include <cctype>

namespace hekla::model {
namespace {

std::string in_case(std::string text, int (*change)(int)) {
  for (char& c : text) c = static_cast<char>(change(static_cast<unsigned char>(c)));
  return text;
}

bool is_on(const std::vector<std::string>& args, std::string_view option) {
  return std::ranges::any_of(args, [&](const std::string& arg) {
    const std::size_t equals = arg.find('=');
    if (equals == std::string::npos || arg.find(option) >= equals) return false;
    std::string value = in_case(arg.substr(equals + 1), std::tolower);
    std::erase(value, ' ');
    return value == "true";
  });
}

}  // namespace

bool is_torchtune(const std::vector<std::string>& command) {
  return command == std::vector<std::string>{"tune", "run"};
}

std::string torchtune_model(const std::string& runtime) {
  const std::size_t first = runtime.find('-'), second = runtime.find('-', first + 1);
  const bool three = first != std::string::npos && second != std::string::npos &&
                     runtime.find('-', second + 1) == std::string::npos;
  if (!three) return {};
  std::string family = runtime.substr(first + 1, second - first - 1);
  std::ranges::replace(family, '.', '_');
  return family + "/" + in_case(runtime.substr(second + 1), std::toupper);
}

TorchtuneTuning read_torchtune_args(const std::vector<std::string>& args) {
  TorchtuneTuning tuning;
  tuning.quantized = is_on(args, "model.quantize_base") && !is_on(args, "model.use_dora");
  tuning.lora = std::ranges::any_of(args, [](const std::string& arg) {
    return arg.find("model.lora_attn_modules") != std::string::npos;
  });
  return tuning;
}

}  // namespace hekla::model
