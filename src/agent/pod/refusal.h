// Why something is not done, as the API shows it: a word for programs, a sentence for people.
#pragma once

#include <string>

namespace hekla::agent {

struct Refusal {
  std::string reason, message;
  bool operator==(const Refusal&) const = default;
};

}  // namespace hekla::agent
