#include "cli/live/progress.h"

#include "cli/live/terminal.h"

namespace hekla::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{1000}, kThen{120};

}  // namespace

Progress::Progress(bool quiet, std::function<std::string()> what)
    : live_(!quiet && is_live(stderr)),
      begin_(real_clock().mono()),
      what_(std::move(what)),
      screen_(stderr, live_) {
  if (!live_) return;
  loop_ = std::make_unique<Loop>("progress");
  loop_->post_after(kFirst, [this] { draw(); });
}

Progress::Progress(bool quiet, const std::string& what)
    : Progress(quiet, std::function<std::string()>([what] { return what; })) {}

void Progress::draw() {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(real_clock().mono() - begin_).count();
  const Paint paint = Paint::of(stderr);
  screen_.draw(paint(Style::cyan, wheel(tick_++)) + " " + what_() + " " +
               paint(Style::dim, std::to_string(seconds) + " s"));
  loop_->post_after(kThen, [this] { draw(); });
}

Progress::~Progress() {
  if (loop_) loop_->stop();
  screen_.clear();
}

Flag quiet_flag(bool& quiet) {
  return Flag("--quiet", quiet, "no progress of what takes long (CI=true does the same)");
}

}  // namespace hekla::cli
