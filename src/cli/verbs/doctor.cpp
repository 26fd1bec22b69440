// hekla doctor: what this machine can do, and how to fix what it cannot.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

namespace hekla::cli {
namespace {

void declare_doctor(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("doctor", "say what this machine can do and how to fix what it cannot");
  command->callback([&context] { context.exit_code = context.doctor(); });
}

}  // namespace

extern const Verb verb_doctor;
const Verb verb_doctor{"doctor", declare_doctor};

}  // namespace hekla::cli
