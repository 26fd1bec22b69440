#include "cli/jobs/job_view.h"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "cli/cluster.h"

namespace hekla::cli {
namespace {

constexpr std::size_t kShownReplicas = 16, kKeptLines = 12, kKeptLosses = 24;

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

bool is_placed(const json::Value& status) {
  const json::Array* conditions = json::array_at(status, {"conditions"});
  for (std::size_t i = 0; conditions && i < conditions->size(); ++i)
    if (json::string_at((*conditions)[i], {"type"}) == "PodScheduled")
      return json::string_at((*conditions)[i], {"status"}) == "True";
  return false;
}

// "loss 0.3412": the number; none where the text ends in something else.
std::optional<double> number_at_end(const std::string& text) {
  const std::size_t begin = text.rfind(' ');
  if (begin == std::string::npos) return std::nullopt;
  double value = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data() + begin + 1, end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

std::string seconds_text(Nanos duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

Style style_of(const std::string& state) {
  if (state == "Running" || state == "Succeeded") return Style::green;
  return state == "Failed"                     ? Style::red
         : state == "gone" || state == "ended" ? Style::dim
                                               : Style::yellow;
}

}  // namespace

JobView::JobView(std::FILE* out, JobViewOptions options, std::vector<JobRef> jobs)
    : options_(options),
      screen_(out, options.live),
      paint_(options.live ? Paint::of(out) : Paint(false)) {
  for (JobRef& job : jobs) parts_.push_back({.job = std::move(job)});
}

std::string JobView::short_name(const Part& part, const std::string& pod) const {
  const std::string& job = part.job.key.name;
  return pod.starts_with(job + "-") ? pod.substr(job.size() + 1) : pod;
}

JobView::Part* JobView::part_of(const std::string& pod) {
  auto found = part_by_pod_.find(pod);
  return found == part_by_pod_.end() ? nullptr : &parts_[found->second];
}

void JobView::say(const std::string& text) { screen_.say(text); }

void JobView::job_changed(const JobRef& job, const JobState& state) {
  auto part = std::ranges::find(parts_, job.uid, [](const Part& one) { return one.job.uid; });
  if (part == parts_.end()) return;
  part->state = state;
  if (state.word == "Running") part->note.clear();
  const bool has_news = state.ended && !state.succeeded && !state.message.empty();
  if (!screen_.live())
    return say(title_of(job) + ": " + state.word + (has_news ? ": " + state.message : ""));
  if (has_news) part->note = state.message;
  see_stages(*part);
  draw();
}

void JobView::pod_changed(const PodNews& pod) {
  const std::string& name = pod.metadata.name;
  Part* part = part_of(name);
  for (std::size_t i = 0; !part && i < parts_.size(); ++i)
    if (is_pod_of(parts_[i].job, pod.metadata)) {
      part_by_pod_[name] = i;
      part = &parts_[i];
    }
  if (!part) return;
  if (pod.gone) {
    // A replica that ended well is not forgotten with its pod.
    if (auto found = part->replicas.find(name); found != part->replicas.end()) {
      found->second.gone = true;
      if (found->second.state != "Succeeded") found->second.state = "gone";
    }
    return draw();
  }
  Replica& replica = part->replicas[name];
  const std::string before = replica.state + replica.trouble;
  replica.state = pod.phase;
  replica.gone = false;
  replica.placed = replica.placed || is_placed(pod.status);
  replica.trouble = trouble_of(pod.status);
  if (pod.phase == "Failed" && failed_.empty()) failed_ = name;
  see_stages(*part);
  if (screen_.live()) return draw();
  if (before != replica.state + replica.trouble || pod.new_phase)
    say(short_name(*part, name) + ": " + replica.state +
        (replica.trouble.empty() ? "" : " (" + replica.trouble + ")"));
}

void JobView::warned(const Warning& warning) {
  const std::string note = warning.reason + ": " + warning.message;
  if (!screen_.live()) {
    const Part* part = part_of(warning.name);
    return say((part ? warning.kind + " " + short_name(*part, warning.name)
                     : warning.kind + " " + warning.name) +
               ": " + note);
  }
  for (Part& part : parts_)
    if (part.job.key.name == warning.name || part.replicas.contains(warning.name) ||
        warning.name.starts_with(part.job.key.name + "-"))
      part.note = note;
  draw();
}

void JobView::explained(const JobRef& job, const std::string& text) {
  if (!screen_.live()) return say(text);
  for (Part& part : parts_)
    if (part.job.uid == job.uid) part.note = text;
  draw();
}

void JobView::log_line(const std::string& pod, const std::string& line) {
  if (const std::string module = missing_module(line); !module.empty()) missing_ = module;
  std::string shown = shown_line(line);
  Part* part = part_of(pod);
  if (!screen_.live()) say((part ? short_name(*part, pod) : pod) + " | " + shown);
  const bool scrolls = options_.logs_scroll && screen_.live();
  if (scrolls) say(paint_.by_name(pod, pod) + " | " + shown);
  if (!part || shown.empty()) return;
  Replica& replica = part->replicas[pod];
  const LogProgress progress = progress_in(shown);
  replica.progress.merge(progress);
  if (std::optional<double> loss = number_at_end(progress.loss)) replica.losses.push_back(*loss);
  if (replica.losses.size() > kKeptLosses) replica.losses.pop_front();
  replica.lines.push_back(std::move(shown));
  if (replica.lines.size() > kKeptLines) replica.lines.pop_front();
  if (!scrolls && screen_.live()) draw();
}

void JobView::tick() {
  ++tick_;
  draw();
}

void JobView::see_stages(Part& part) {
  const MonoTime now = real_clock().mono();
  std::size_t placed = 0, running = 0;
  for (const auto& [name, replica] : part.replicas) {
    const bool has_begun = replica.state != "Pending";
    placed += replica.placed || has_begun ? 1 : 0;
    running += has_begun ? 1 : 0;
  }
  const std::size_t wanted = std::max<std::size_t>(static_cast<std::size_t>(part.job.replicas), 1);
  if (!part.placed && placed >= wanted) part.placed = now;
  if (!part.running && running >= wanted) part.running = now;
  if (!part.ended && part.state.ended) part.ended = now;
}

// "✓ waits 0.2 s → ✓ scheduled 0.4 s → ● 5 of 5 run 12 s → Completed"
std::string JobView::stages(const Part& part) const {
  const MonoTime now = real_clock().mono();
  std::size_t running = 0, placed = 0;
  for (const auto& [name, replica] : part.replicas) {
    running += replica.state == "Running" ? 1 : 0;
    placed += replica.placed ? 1 : 0;
  }
  const std::size_t wanted =
      std::max(static_cast<std::size_t>(std::max(part.job.replicas, 0)), part.replicas.size());
  const std::string all = std::to_string(wanted);
  struct Stage {
    std::string doing, done;
    MonoTime begin;
    std::optional<MonoTime> end;
  };
  const Stage list[] = {{wanted > 1 ? "gang of " + all + " waits" : "waits",
                         wanted > 1 ? "gang of " + all : "queued", begin_, part.placed},
                        {"starts, " + std::to_string(running) + " of " + all + " run", "scheduled",
                         part.placed.value_or(now), part.running},
                        {std::to_string(running) + " of " + all + " run", all + " ran",
                         part.running.value_or(now), part.ended}};
  std::string text;
  bool reached = true;
  for (const Stage& stage : list) {
    if (!reached) break;
    const bool over = stage.end || part.ended;
    const std::string took =
        seconds_text(stage.end.value_or(part.ended.value_or(now)) - stage.begin);
    if (!text.empty()) text += paint_(Style::dim, " → ");
    text += over ? paint_(Style::green, "✓ " + stage.done) + paint_(Style::dim, " " + took)
                 : paint_(Style::cyan, std::string(wheel(tick_)) + " " + stage.doing) + " " + took;
    reached = stage.end.has_value();
  }
  if (part.ended)
    text +=
        paint_(Style::dim, " → ") + paint_(part.state.succeeded ? Style::green : Style::red,
                                           (part.state.succeeded ? "✓ " : "✗ ") + part.state.word);
  return text;
}

// Once the job has what it wanted, how the rest was ended is no news.
JobView::ReplicaWords JobView::words_of(const Part& part, const Replica& replica) {
  const bool wanted_no_more = part.state.succeeded || part.state.word == "Completing";
  if (wanted_no_more && replica.state != "Succeeded") return {"ended", ""};
  return {replica.state, replica.trouble};
}

std::string JobView::replica_lines(const Part& part, std::size_t width) const {
  std::size_t shown = 0, names = 0, states = 0, steps = 0;
  for (const auto& [pod, replica] : part.replicas) {
    names = std::max(names, short_name(part, pod).size());
    states = std::max(states, words_of(part, replica).state.size());
    steps = std::max(steps, replica.progress.text().size());
  }
  std::string text;
  for (const auto& [pod, replica] : part.replicas) {
    if (++shown > kShownReplicas) break;
    const ReplicaWords words = words_of(part, replica);
    std::string line = "    " + paint_.by_name(pod, padded(short_name(part, pod), names)) + "  " +
                       paint_(style_of(words.state), padded(words.state, states)) + "  ";
    if (steps > 0) line += padded(replica.progress.text(), steps) + "  ";
    if (replica.losses.size() > 1) {
      const std::vector<double> losses(replica.losses.begin(), replica.losses.end());
      line += paint_(Style::green, curve(losses)) + "  ";
    }
    if (!words.trouble.empty())
      line += paint_(Style::red, words.trouble);
    else if (!replica.lines.empty() && !options_.logs_scroll)
      line += paint_(Style::dim, replica.lines.back());
    text += fitted(line, width) + "\n";
  }
  if (part.replicas.size() > kShownReplicas)
    text += "    and " + std::to_string(part.replicas.size() - kShownReplicas) + " more\n";
  return text;
}

// Wrapped at words: what helps stands at its end.
std::string JobView::note_lines(const Part& part, std::size_t width) const {
  std::string text;
  for (const auto paragraph : std::views::split(part.note, '\n')) {
    std::string line = "   ";
    std::string_view rest(paragraph.begin(), paragraph.end());
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, end);
      if (shown_width(line) + 1 + shown_width(word) > width && shown_width(line) > 3) {
        text += paint_(Style::yellow, line) + "\n";
        line = "   ";
      }
      line += " " + std::string(word);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (line.size() > 3) text += paint_(Style::yellow, line) + "\n";
  }
  return text;
}

std::string JobView::block(std::size_t width) const {
  std::string text;
  for (const Part& part : parts_) {
    const std::string title = "  " + paint_(Style::bold, title_of(part.job)), way = stages(part);
    const bool fits = shown_width(title) + 2 + shown_width(way) <= width;
    text += fits ? title + "  " + way + "\n"
                 : fitted(title, width) + "\n" + fitted("    " + way, width) + "\n";
    const bool explains = !part.state.succeeded && part.state.word != "Running";
    if (explains && !part.note.empty()) text += note_lines(part, width);
    text += replica_lines(part, width);
  }
  return text;
}

void JobView::draw() {
  if (screen_.live()) screen_.draw(block(terminal_size(stdout).columns - 1));
}

void JobView::finish() {
  draw();
  screen_.finish();
}

std::string JobView::last_words() const {
  auto found = part_by_pod_.find(failed_);
  if (found == part_by_pod_.end()) return {};
  const Part& part = parts_[found->second];
  std::string text;
  for (const std::string& line : part.replicas.at(failed_).lines)
    text += short_name(part, failed_) + " | " + line + "\n";
  return text;
}

}  // namespace hekla::cli
