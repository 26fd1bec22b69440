#include "pipelines/schedule/macros.h"

#include <array>
#include <ctime>
#include <optional>

namespace hekla::pipelines::schedule {
namespace {

constexpr std::size_t kTextMax = 512;  // of one time

std::string strftime_text(WallTime when, const std::string& format) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(when.time_since_epoch()).count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::string text(kTextMax, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &parts));
  return text;
}

// A layout of Go's as strftime has it, longest pieces first.
std::string strftime_of(std::string_view layout) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kPieces{
      {{"January", "%B"},
       {"Monday", "%A"},
       {"2006", "%Y"},
       {"MST", "UTC"},
       {"Jan", "%b"},
       {"Mon", "%a"},
       {"PM", "%p"},
       {"15", "%H"},
       {"06", "%y"},
       {"05", "%S"},
       {"04", "%M"},
       {"03", "%I"},
       {"02", "%d"},
       {"01", "%m"}}};
  std::string out;
  while (!layout.empty()) {
    bool found = false;
    for (const auto& [go, c] : kPieces)
      if (layout.starts_with(go)) {
        out += c;
        layout.remove_prefix(go.size());
        found = true;
        break;
      }
    if (found) continue;
    out += layout.front() == '%' ? "%%" : std::string(1, layout.front());
    layout.remove_prefix(1);
  }
  return out;
}

// The text of what stands between [[ and ]]; nothing where that is no macro.
std::optional<std::string> square(std::string_view name, const Occasion& occasion) {
  if (name == "Index") return std::to_string(occasion.index);
  if (name == "RunUUID") return occasion.run_id;
  const std::pair<std::string_view, WallTime> times[] = {{"ScheduledTime", occasion.scheduled},
                                                         {"CurrentTime", occasion.now}};
  for (const auto& [word, when] : times) {
    if (name == word) return strftime_text(when, "%Y%m%d%H%M%S");
    if (name.starts_with(word) && name.size() > word.size() && name[word.size()] == '.')
      return strftime_text(when, strftime_of(name.substr(word.size() + 1)));
  }
  return std::nullopt;
}

// The same between {{ and }}.
std::optional<std::string> curly(std::string_view name, const Occasion& occasion) {
  const std::pair<std::string_view, WallTime> times[] = {
      {"$.scheduledTime.strftime('", occasion.scheduled},
      {"$.currentTime.strftime('", occasion.now}};
  for (const auto& [word, when] : times)
    if (name.starts_with(word) && name.ends_with("')"))
      return strftime_text(when,
                           std::string(name.substr(word.size(), name.size() - word.size() - 2)));
  return std::nullopt;
}

std::string filled_text(std::string_view text, const Occasion& occasion) {
  std::string out;
  while (!text.empty()) {
    const bool is_square = text.starts_with("[["), is_curly = text.starts_with("{{");
    if (is_square || is_curly) {
      const std::size_t end = text.find(is_square ? "]]" : "}}", 2);
      if (end != std::string_view::npos) {
        const std::string_view name = text.substr(2, end - 2);
        if (std::optional<std::string> value =
                is_square ? square(name, occasion) : curly(name, occasion)) {
          out += *value;
          text.remove_prefix(end + 2);
          continue;
        }
      }
    }
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace

json::Value filled(const json::Value& parameters, const Occasion& occasion) {
  if (parameters.is_string())
    return json::Value(filled_text(json::sv(parameters.get_string()), occasion));
  if (parameters.is_array()) {
    json::Array out;
    for (const json::Value& one : parameters.get_array()) out.push_back(filled(one, occasion));
    return out;
  }
  if (parameters.is_object()) {
    json::Object out;
    for (const auto& member : parameters.get_object())
      out.emplace(member.key(), filled(member.value(), occasion));
    return out;
  }
  return parameters;
}

bool has_macros(const json::Value& parameters) {
  const Occasion one{WallTime{}, WallTime{}, 1, "1"},
      other{WallTime(std::chrono::hours(24 * 500)), WallTime(std::chrono::hours(24 * 500)), 2, "2"};
  return json::serialize(filled(parameters, one)) != json::serialize(filled(parameters, other));
}

}  // namespace hekla::pipelines::schedule
