// One file per verb in verbs/ exports `const Verb verb_<file>`; CMake makes the table.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace hekla::cli {

struct ApiServerOptions;
struct ControllersOptions;
struct OperatorOptions;
struct SchedulerOptions;
struct UpOptions;
struct WebOptions;
struct WebhookOptions;

// The services of main that verbs call, for cli knows no component above it.
struct Context {
  // Runs the embedded platform until it is told to stop.
  std::function<int(const UpOptions&)> up;
  // The API server alone, and the stand-in for the etcd a test environment expects beside it.
  std::function<int(const ApiServerOptions&)> apiserver;
  std::function<int(const std::string& url)> etcd;
  // One component each against somebody's cluster.
  std::function<int(const ControllersOptions&)> controllers;
  std::function<int(const SchedulerOptions&)> scheduler;
  std::function<int(const WebhookOptions&)> webhook;
  // Components together: all, or those of the Training Operator.
  std::function<int(const OperatorOptions&)> operate;
  // The page.
  std::function<int(const WebOptions&)> web;
  // Examines the machine and prints what it finds; 1 when pods could not run.
  std::function<int()> doctor;
  // Whether an image is one of those that stand for a part of this program.
  std::function<bool(std::string_view image)> is_built_in;
  std::string executable;  // the path of this program, to start it again
  bool has_page = false;   // the dashboard's files are in it
};

struct Verb {
  std::string_view name;
  // The commands of this file; `context` outlives them.
  std::vector<Command> (*commands)(const Context& context);
};

std::span<const Verb* const> all_verbs();

// The whole command line.
Command all_commands(const Context& context);

// Parses the command line and runs the verb. Exit codes: 0 success, 1 the thing asked for failed, 2
// a mistake in the command line, 3 the platform is not running or cannot be reached.
int run(int argc, char** argv, const Context& context);

inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kUnreachable = 3;

// One line on stderr: "hekla: <what, where, what to do>".
void complain(const std::string& text);

}  // namespace hekla::cli
