// hekla up: the embedded platform, in the foreground until Ctrl-C, SIGTERM or `hekla down`, or in
// the background.
#include <cstdio>
#include <memory>

#include "cli/end_signal.h"
#include "cli/live/progress.h"
#include "cli/live/terminal.h"
#include "cli/status/detached.h"
#include "cli/up_options.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct Up {
  UpOptions options;
  bool detach = false;
  std::string log_file;
};

int start_in_background(const Context& context, const Up& up) {
  EndSignal end;
  DetachedStart start{.executable = context.executable,
                      .data_dir = up.options.data_dir,
                      .log = up.log_file.empty() ? up.options.data_dir + "/hekla.log" : up.log_file,
                      .arguments = up_arguments(up.options),
                      .gives_up = [&end] { return end.first() != 0; }};
  // Before the log of one that runs is put aside.
  if (Result<std::unique_ptr<InstanceLock>> free = InstanceLock::take(start.data_dir); !free) {
    complain(free.error().message);
    return kFailed;
  }
  Result<Running> running = fail(Code::internal, "");
  {
    const Progress progress(up.options.quiet, "hekla starts on " + start.data_dir);
    running = start_detached(start);
  }
  if (!running) {
    complain(running.error().message);
    return kFailed;
  }
  const Paint paint = Paint::of(stdout);
  std::printf("%s is ready in the background (pid %d)\n",
              paint(Style::green, "hekla " + running->version).c_str(), running->pid);
  std::vector<std::pair<std::string, std::string>> lines{{"address", running->url},
                                                         {"kubeconfig", running->kubeconfig}};
  if (!running->web.empty())
    lines.emplace_back("page", running->web + " (hekla dashboard opens it)");
  lines.emplace_back("log", start.log);
  for (const auto& [name, text] : lines)
    std::printf("  %s %s\n", paint(Style::dim, padded(name, 11)).c_str(), text.c_str());
  const std::string where =
      start.data_dir == default_data_dir() ? "" : " --data-dir " + start.data_dir;
  std::printf("hekla status%s shows it, hekla down%s stops it\n", where.c_str(), where.c_str());
  return 0;
}

std::vector<Command> up_commands(const Context& context) {
  auto up = std::make_shared<Up>();
  Command command{
      .name = "up",
      .summary = "run the platform on this machine: API server, scheduler, controllers, node agent",
      .flags = {Flag("-d,--detach", up->detach,
                     "start it in the background and return when it is ready"),
                Flag("--log-file", up->log_file,
                     "with --detach: what takes all it says (default: hekla.log in the data "
                     "directory)")},
      .run =
          [&context, up] {
            return up->detach ? start_in_background(context, *up) : context.up(up->options);
          },
      .footer =
          "Ctrl-C ends pods gracefully and stops, at once when repeated; hekla down does the "
          "same from elsewhere.\n"
          "Examples:\n"
          "  hekla up                            pods run from their images\n"
          "  hekla up --image-map '*=host'       pods run on this machine's own files\n"
          "  hekla up --detach --merge-kubeconfig\n"
          "  hekla up --no-agent --fake-nodes 1000 --fake-node-resources "
          "cpu=32,memory=256Gi,pods=110",
  };
  append(command.flags, up_flags(up->options));
  return {std::move(command)};
}

}  // namespace

extern const Verb verb_up;
const Verb verb_up{"up", up_commands};

}  // namespace hekla::cli
