#include "cli/jobs/log_progress.h"

#include <algorithm>
#include <array>

#include "cli/cluster.h"

namespace hekla::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// 12, 3.5, 1e-4, 2/5 at the beginning of the text.
std::string_view number_at(std::string_view text, bool fraction) {
  std::size_t end = text.starts_with('-') ? 1 : 0;
  const std::size_t first = end;
  while (end < text.size()) {
    const char c = text[end];
    const bool exponent = (c == 'e' || c == 'E') && end > first && end + 1 < text.size() &&
                          (is_digit(text[end + 1]) || text[end + 1] == '-');
    const bool sign = c == '-' && end > first && (text[end - 1] == 'e' || text[end - 1] == 'E');
    const bool point = c == '.' && end + 1 < text.size() && is_digit(text[end + 1]);
    const bool slash =
        fraction && c == '/' && end > first && end + 1 < text.size() && is_digit(text[end + 1]);
    if (!is_digit(c) && !exponent && !sign && !point && !slash) break;
    ++end;
  }
  return end > first ? text.substr(0, end) : std::string_view();
}

// The number after a word, with blanks and one of ":=[#" between them; empty: there is none.
std::string_view number_after(std::string_view line, std::string_view word, bool fraction) {
  const std::string small = lowered(line);
  for (std::size_t at = small.find(word); at != std::string::npos; at = small.find(word, at + 1)) {
    if (at > 0 && is_letter(line[at - 1])) continue;
    std::size_t next = at + word.size();
    for (bool mark = false; next < line.size(); ++next) {
      const bool is_mark = std::string_view(":=[#").find(line[next]) != std::string_view::npos;
      if (line[next] != ' ' && line[next] != '\t' && !(is_mark && !mark)) break;
      mark |= is_mark;
    }
    if (std::string_view number = number_at(line.substr(next), fraction); !number.empty())
      return number;
  }
  return {};
}

// "[12]\ttrain-rmse:0.31\teval-..." of XGBoost and LightGBM.
LogProgress boosting(std::string_view line) {
  LogProgress out;
  const std::size_t open = line.find('['), close = line.find("]\t");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return out;
  const std::string_view round = line.substr(open + 1, close - open - 1);
  if (round.empty() || !std::ranges::all_of(round, is_digit)) return out;
  out.step = "round " + std::string(round);
  const std::string_view rest = line.substr(close + 2);
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos || colon > 40) return out;
  if (std::string_view value = number_at(rest.substr(colon + 1), false); !value.empty())
    out.loss = std::string(rest.substr(0, colon)) + " " + std::string(value);
  return out;
}

}  // namespace

void LogProgress::merge(const LogProgress& newer) {
  if (!newer.step.empty()) step = newer.step;
  if (!newer.loss.empty()) loss = newer.loss;
}

std::string LogProgress::text() const {
  return step.empty() || loss.empty() ? step + loss : step + ", " + loss;
}

LogProgress progress_in(std::string_view line) {
  LogProgress out = boosting(line);
  if (!out.step.empty()) return out;
  static constexpr std::array kSteps{"global_step", "global step", "step",  "iteration",
                                     "iter",        "batch",       "epoch", "round"};
  for (std::string_view word : kSteps) {
    std::string_view number = number_after(line, word, true);
    if (number.empty()) continue;
    const std::string_view shown = word.starts_with("global") ? std::string_view("step") : word;
    out.step = std::string(shown) + " " + std::string(number);
    break;
  }
  for (std::string_view word : {"train_loss", "training loss", "avg_loss", "loss"})
    if (std::string_view number = number_after(line, word, false); !number.empty()) {
      out.loss = "loss " + std::string(number);
      break;
    }
  return out;
}

std::string shown_line(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (const std::size_t back = line.rfind('\r'); back != std::string_view::npos)
    line.remove_prefix(back + 1);
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    if (c == 0x1b && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
    } else if (c == '\t') {
      out += ' ';
    } else if (c == '\b') {
      if (!out.empty()) out.pop_back();
    } else if (c >= 0x20 && c != 0x7f) {
      out += line[i];
    }
  }
  return out;
}

std::string missing_module(std::string_view line) {
  constexpr std::string_view kWords = "No module named ";
  const std::size_t at = line.find(kWords);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + kWords.size());
  if (rest.starts_with('\'') || rest.starts_with('"')) rest.remove_prefix(1);
  const auto end =
      std::ranges::find_if(rest, [](char c) { return !is_letter(c) && !is_digit(c) && c != '-'; });
  return {rest.begin(), end};
}

}  // namespace hekla::cli
