// hekla doctor: what this machine can do, and how to fix what it cannot.
#include "cli/verb.h"

namespace hekla::cli {
namespace {

std::vector<Command> doctor_commands(const Context& context) {
  return {{
      .name = "doctor",
      .summary = "say what this machine can do and how to fix what it cannot",
      .run = [&context] { return context.doctor(); },
  }};
}

}  // namespace

extern const Verb verb_doctor;
const Verb verb_doctor{"doctor", doctor_commands};

}  // namespace hekla::cli
