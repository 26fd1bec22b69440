#include "scheduler/session/argument_use.h"

#include <algorithm>
#include <cctype>

namespace hekla::scheduler {

namespace {

// How many letters must be changed, added or left out; capitals are no difference.
std::size_t distance(std::string_view a, std::string_view b) {
  auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t changed = diagonal + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// "weight" for "binpack.weight": the part after the plugin's name is often all that is remembered.
std::string_view last_part(std::string_view name) {
  std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

std::string nearest_name(std::string_view given, const std::set<std::string, std::less<>>& names) {
  std::string best;
  std::size_t least = std::max<std::size_t>(given.size() / 4, 2) + 1;
  for (const std::string& name : names) {
    std::size_t here = distance(given, name);
    if (given.find('.') == std::string_view::npos)
      here = std::min(here, distance(given, last_part(name)));
    if (here < least) {
      least = here;
      best = name;
    }
  }
  return best;
}

std::vector<std::string> ArgumentUse::complaints(const json::Value& arguments) const {
  std::vector<std::string> out = problems;
  if (!arguments.is_object()) return out;
  for (const auto& member : arguments.get_object()) {
    std::string_view key = member.key();
    bool made_up = std::ranges::any_of(prefixes, [&](const std::string& prefix) {
      return key.starts_with(prefix) && key.size() > prefix.size();
    });
    if (made_up || names.contains(key)) continue;
    std::set<std::string, std::less<>> known = names;
    known.insert(prefixes.begin(), prefixes.end());
    std::string meant = nearest_name(key, known);
    out.push_back(std::string(key) + " is not supported and has no effect" +
                  (meant.empty() ? "" : ", did you mean " + meant + "?"));
  }
  for (const auto& [name, part] : parts)
    if (const json::Value* given = json::find(arguments, name))
      for (const std::string& one : part->complaints(*given)) out.push_back(name + "." + one);
  return out;
}

}  // namespace hekla::scheduler
