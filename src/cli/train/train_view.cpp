#include "cli/train/train_view.h"

#include <sys/ioctl.h>

#include <algorithm>

#include "cli/cluster.h"

namespace hekla::cli {
namespace {

constexpr std::size_t kShownReplicas = 16, kKeptLines = 12;

std::size_t terminal_width(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// At most `width` characters; UTF-8 is cut between them.
std::string fitted(const std::string& text, std::size_t width) {
  std::size_t characters = 0, at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins && ++characters > width) break;
  }
  return text.substr(0, at);
}

// Why a container does not run: "ImagePullBackOff: ...", or how it ended: "exit code 1".
std::string trouble_of(const json::Value& status) {
  for (const char* member : {"initContainerStatuses", "containerStatuses"}) {
    const json::Array* containers = json::array_at(status, {member});
    for (std::size_t i = 0; containers && i < containers->size(); ++i) {
      const json::Value& one = (*containers)[i];
      const std::string reason(json::string_at(one, {"state", "waiting", "reason"}));
      const std::string message(json::string_at(one, {"state", "waiting", "message"}));
      if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing")
        return message.empty() ? reason : reason + ": " + message;
      if (json::find_path(one, {"state", "terminated"}))
        if (std::int64_t code = json::int_at(one, {"state", "terminated", "exitCode"}); code != 0)
          return "exit code " + std::to_string(code);
    }
  }
  return {};
}

}  // namespace

TrainView::TrainView(std::FILE* out, bool live, std::string job, MonoTime begin)
    : out_(out), live_(live), job_(std::move(job)), begin_(begin) {}

std::string TrainView::short_name(const std::string& pod) const {
  return pod.starts_with(job_ + "-") ? pod.substr(job_.size() + 1) : pod;
}

void TrainView::say(const std::string& text) {
  erase_block();
  std::fprintf(out_, "%s\n", text.c_str());
  std::fflush(out_);
}

void TrainView::job_changed(const JobRef& job, const JobState& state) {
  title_ = title_of(job);
  state_ = state.word;
  if (state.word == "Running") note_.clear();
  const bool has_news = state.ended && !state.succeeded && !state.message.empty();
  if (!live_) return say(title_ + ": " + state.word + (has_news ? ": " + state.message : ""));
  draw();
}

void TrainView::pod_changed(const PodNews& pod) {
  const std::string& name = pod.metadata.name;
  if (pod.gone) {
    // A replica that ended well is not forgotten with its pod.
    if (auto found = replicas_.find(name);
        found != replicas_.end() && found->second.state != "Succeeded")
      found->second.state = "gone";
    return live_ ? draw() : void();
  }
  Replica& replica = replicas_[name];
  const std::string before = replica.state + replica.trouble;
  replica.state = pod.phase;
  replica.trouble = trouble_of(pod.status);
  if (pod.phase == "Failed" && failed_.empty()) failed_ = name;
  if (live_) return draw();
  if (before != replica.state + replica.trouble || pod.new_phase)
    say(short_name(name) + ": " + replica.state +
        (replica.trouble.empty() ? "" : " (" + replica.trouble + ")"));
}

void TrainView::warned(const Warning& warning) {
  note_ = warning.reason + ": " + warning.message;
  if (live_) return draw();
  say((warning.of_job ? title_ : warning.kind + " " + short_name(warning.name)) + ": " + note_);
}

void TrainView::log_line(const std::string& pod, const std::string& line) {
  if (const std::string module = missing_module(line); !module.empty()) missing_ = module;
  Replica& replica = replicas_[pod];
  std::string shown = shown_line(line);
  if (!live_) say(short_name(pod) + " | " + shown);
  if (shown.empty()) return;
  replica.progress.merge(progress_in(shown));
  replica.lines.push_back(std::move(shown));
  if (replica.lines.size() > kKeptLines) replica.lines.pop_front();
  if (live_) draw();
}

std::string TrainView::block(std::size_t width) const {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(real_clock().mono() - begin_).count();
  std::string head =
      (title_.empty() ? job_ : title_) + ": " + state_ + ", " + std::to_string(seconds) + " s";
  std::string text = fitted(head, width) + "\n";
  if (!note_.empty() && state_ != "Running" && state_ != "Succeeded")
    text += fitted("  " + note_, width) + "\n";
  std::size_t shown = 0, names = 0, states = 0, steps = 0;
  for (const auto& [pod, replica] : replicas_) {
    names = std::max(names, short_name(pod).size());
    states = std::max(states, replica.state.size());
    steps = std::max(steps, replica.progress.text().size());
  }
  auto padded = [](std::string word, std::size_t to) {
    word.resize(std::max(word.size(), to), ' ');
    return word + "  ";
  };
  for (const auto& [pod, replica] : replicas_) {
    if (++shown > kShownReplicas) break;
    std::string line = "  " + padded(short_name(pod), names) + padded(replica.state, states);
    if (steps > 0) line += padded(replica.progress.text(), steps);
    if (!replica.trouble.empty())
      line += replica.trouble;
    else if (!replica.lines.empty())
      line += replica.lines.back();
    text += fitted(line, width) + "\n";
  }
  if (replicas_.size() > kShownReplicas)
    text += fitted("  and " + std::to_string(replicas_.size() - kShownReplicas) + " more", width) +
            "\n";
  return text;
}

void TrainView::erase_block() {
  if (drawn_ > 0) std::fprintf(out_, "\x1b[%zuF\x1b[J", drawn_);
  drawn_ = 0;
}

void TrainView::draw() {
  // One write for all of it: the screen does not flicker.
  const std::string text = block(terminal_width(out_) - 1);
  std::string screen = drawn_ > 0 ? "\x1b[" + std::to_string(drawn_) + "F\x1b[J" : "";
  screen += text;
  drawn_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  std::fputs(screen.c_str(), out_);
  std::fflush(out_);
}

void TrainView::finish() {
  if (live_) draw();
  drawn_ = 0;
}

std::string TrainView::last_words() const {
  auto found = replicas_.find(failed_);
  if (found == replicas_.end()) return {};
  std::string text;
  for (const std::string& line : found->second.lines)
    text += short_name(failed_) + " | " + line + "\n";
  return text;
}

}  // namespace hekla::cli
