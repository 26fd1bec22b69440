#include "cli/pipelines/run_view.h"

#include <sys/ioctl.h>

#include <algorithm>

#include "model/time.h"

namespace hekla::cli {
namespace {

constexpr std::size_t kShownIterations = 8, kShownLines = 40;

std::string capital(std::string word) {
  for (std::size_t i = 1; i < word.size(); ++i)
    if (word[i] >= 'A' && word[i] <= 'Z') word[i] = static_cast<char>(word[i] + 32);
  return word;
}

// The API's SKIPPED has several reasons, which are told apart here.
std::string word_of(const ShownStep& step) {
  if (step.reason == "cached") return "Cached";
  if (step.reason == "omitted") return "Omitted";
  if (step.reason == "waiting") return "Waiting";
  if (step.reason == "backoff") return "Waiting to try again";
  return capital(step.state);
}

std::string duration_of(const ShownStep& step, WallTime now) {
  const std::string& begin = step.started.empty() ? step.created : step.started;
  if (begin.empty() || word_of(step) == "Waiting" || word_of(step) == "Skipped") return {};
  const Result<WallTime> from = model::parse_rfc3339(begin);
  const Result<WallTime> to =
      step.ended.empty() ? Result<WallTime>(now) : model::parse_rfc3339(step.ended);
  if (!from || !to) return {};
  const auto tenths =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::max(*to - *from, Nanos(0)))
          .count() /
      100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

struct Row {
  std::string head, state, time, error;
};

class Tree {
 public:
  Tree(const std::vector<ShownStep>& steps, WallTime now) : now_(now) {
    for (const ShownStep& step : steps)
      if (const std::string parent = parent_of(step.path); !parent.empty())
        below_[parent].push_back(&step);
    for (auto& [parent, members] : below_)
      std::ranges::stable_sort(members, [](const ShownStep* a, const ShownStep* b) {
        if (a->iteration != b->iteration) return a->iteration < b->iteration;
        // Steps that have not begun stand last.
        const auto key = [](const ShownStep* one) {
          return one->started.empty() ? "~" + one->created : one->started;
        };
        return key(a) < key(b);
      });
  }

  std::vector<Row> rows() {
    add("root", 1);
    return std::move(rows_);
  }

 private:
  void add(const std::string& parent, std::size_t depth) {
    const auto found = below_.find(parent);
    if (found == below_.end()) return;
    const std::vector<const ShownStep*>& all = found->second;
    const bool is_loop =
        std::ranges::any_of(all, [](const auto* one) { return one->iteration >= 0; });
    std::size_t shown = 0;
    for (const ShownStep* step : all) {
      const std::string word = word_of(*step);
      const bool dull = word == "Succeeded" || word == "Waiting" || word == "Cached";
      if (is_loop && (dull || ++shown > kShownIterations)) continue;
      Row row;
      row.head = std::string(2 * depth, ' ') +
                 (step->iteration >= 0 ? "#" + std::to_string(step->iteration) : step->name);
      row.state = word;
      row.time = duration_of(*step, now_);
      const auto inner = below_.find(step->path);
      if (inner != below_.end()) row.time += counted(inner->second);
      if (word == "Failed" && (inner == below_.end())) row.error = step->error;
      rows_.push_back(std::move(row));
      add(step->path, depth + 1);
    }
  }

  // ", 3 of 10" of a loop.
  static std::string counted(const std::vector<const ShownStep*>& members) {
    std::size_t done = 0, iterations = 0;
    for (const ShownStep* one : members) {
      iterations += one->iteration >= 0;
      done += one->iteration >= 0 && !one->ended.empty();
    }
    if (iterations == 0) return {};
    return ", " + std::to_string(done) + " of " + std::to_string(iterations);
  }

  WallTime now_;
  std::map<std::string, std::vector<const ShownStep*>> below_;
  std::vector<Row> rows_;
};

std::size_t terminal_width(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string fitted(const std::string& text, std::size_t width) {
  std::size_t characters = 0, at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins && ++characters > width) break;
  }
  return text.substr(0, at);
}

}  // namespace

ShownStep shown_step(const json::Value& task) {
  ShownStep step;
  const std::string run = json::text_at(task, {"run_id"});
  step.path = json::text_at(task, {"task_id"});
  if (step.path.starts_with(run + "/")) step.path = step.path.substr(run.size() + 1);
  step.name = json::text_at(task, {"name"});
  step.state = json::text_at(task, {"state"});
  step.reason = json::text_at(task, {"reason"});
  step.error = json::text_at(task, {"error", "message"});
  step.created = json::text_at(task, {"create_time"});
  step.started = json::text_at(task, {"start_time"});
  step.ended = json::text_at(task, {"end_time"});
  step.iteration = static_cast<int>(json::int_at(task, {"iteration"}, -1));
  if (const json::Array* pods = json::array_at(task, {"pods"}); pods && !pods->empty())
    step.pod = json::sv(pods->back().as_string());
  return step;
}

std::string steps_text(const std::vector<ShownStep>& steps, WallTime now) {
  const std::vector<Row> rows = Tree(steps, now).rows();
  std::size_t heads = 0, states = 0;
  for (const Row& row : rows) {
    heads = std::max(heads, row.head.size());
    states = std::max(states, row.state.size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = row.head;
    line.resize(heads + 2, ' ');
    line += row.state;
    if (!row.time.empty() || !row.error.empty()) {
      line.resize(heads + 2 + states + 2, ' ');
      line += row.time;
    }
    if (!row.error.empty()) line += "  " + row.error;
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  return text;
}

std::string RunView::label_of(const ShownStep& step) {
  return step.path.starts_with("root/") ? step.path.substr(5) : step.name;
}

void RunView::update(const std::string& state, const std::vector<ShownStep>& steps, WallTime now) {
  if (live_) return draw(state, steps, now);
  for (const ShownStep& step : steps) {
    std::string& told = told_[step.path];
    const std::string word = word_of(step);
    if (step.path == "root" || word == told || word == "Waiting" || word == "Pending") continue;
    // Groups are told of only when they do not go as they should.
    const bool whole = step.pod.empty() && word != "Cached" && word != "Skipped";
    if (!whole || word == "Failed") {
      std::string line = label_of(step) + ": " + word;
      if (!step.ended.empty() && !step.pod.empty()) line += " after " + duration_of(step, now);
      if (!step.error.empty()) line += ": " + step.error;
      std::fprintf(out_, "%s\n", line.c_str());
    }
    told = word;
  }
  if (told_run_ != state && state != "PENDING")
    std::fprintf(out_, "%s: %s\n", title_.c_str(), capital(state).c_str());
  told_run_ = state;
  std::fflush(out_);
}

void RunView::draw(const std::string& state, const std::vector<ShownStep>& steps, WallTime now) {
  const std::size_t width = terminal_width(out_) - 1;
  std::string text = fitted(title_ + ": " + capital(state), width) + "\n";
  const std::string tree = steps_text(steps, now);
  std::size_t lines = 1;
  for (std::size_t at = 0; at < tree.size() && lines <= kShownLines; ++lines) {
    const std::size_t end = tree.find('\n', at);
    text += fitted(tree.substr(at, end - at), width) + "\n";
    at = end + 1;
  }
  // One write for all of it: the screen does not flicker.
  std::string screen = drawn_ > 0 ? "\x1b[" + std::to_string(drawn_) + "F\x1b[J" : "";
  screen += text;
  drawn_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  std::fputs(screen.c_str(), out_);
  std::fflush(out_);
}

void RunView::finish() { drawn_ = 0; }

}  // namespace hekla::cli
