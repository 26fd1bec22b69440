// Semantic versions: strict by default, with the errors of github.com/blang/semver.
#include <algorithm>
#include <charconv>

#include "cel/functions.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
bool identifier_signs(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '-');
  });
}
bool leading_zero(std::string_view number) { return number.size() > 1 && number[0] == '0'; }

std::vector<std::string_view> split_at(std::string_view text, char sign) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(sign, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// "v01.2-rc" to "1.2.0-rc".
std::string normalized(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::size_t tail = std::min(text.find_first_of("-+"), text.size());
  std::vector<std::string_view> parts = split_at(text.substr(0, tail), '.');
  std::string out;
  for (std::size_t i = 0; i < std::max<std::size_t>(parts.size(), 3); ++i) {
    std::string_view part = i < parts.size() ? parts[i] : std::string_view("0");
    while (leading_zero(part)) part.remove_prefix(1);
    out.append(i > 0 ? "." : "").append(part);
  }
  return out.append(text.substr(tail));
}

Result<std::uint64_t> version_number(std::string_view text, std::string name) {
  if (!all_digits(text))
    return cel_error("Invalid character(s) found in " + name + " number \"" + std::string(text) +
                     "\"");
  name[0] = static_cast<char>(std::toupper(name[0]));
  if (leading_zero(text))
    return cel_error(name + " number must not contain leading zeroes \"" + std::string(text) +
                     "\"");
  std::uint64_t out = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc())
    return cel_error("strconv.ParseUint: parsing \"" + std::string(text) +
                     "\": value out of range");
  return out;
}

int sign_of(std::strong_ordering order) { return order < 0 ? -1 : order > 0; }

// Numbers come before words and compare as numbers; without leading zeros the longer one is larger.
int compare_identifiers(const std::string& a, const std::string& b) {
  const bool x = all_digits(a), y = all_digits(b);
  if (x != y) return x ? -1 : 1;
  if (x && a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return sign_of(a <=> b);
}

}  // namespace

Result<Semver> Semver::parse(std::string_view given, bool normalize) {
  Semver out;
  out.text = normalize ? normalized(given) : std::string(given);
  std::string_view rest = out.text;
  if (rest.empty()) return cel_error("Version string empty");
  std::string_view build, before;
  const std::size_t plus = rest.find('+');
  if (plus != std::string_view::npos) build = rest.substr(plus + 1), rest = rest.substr(0, plus);
  const std::size_t dash = rest.find('-');
  if (dash != std::string_view::npos) before = rest.substr(dash + 1), rest = rest.substr(0, dash);
  const std::size_t first = rest.find('.');
  const std::size_t second = first == std::string_view::npos ? first : rest.find('.', first + 1);
  if (second == std::string_view::npos) return cel_error("No Major.Minor.Patch elements found");
  out.major = TRY(version_number(rest.substr(0, first), "major"));
  out.minor = TRY(version_number(rest.substr(first + 1, second - first - 1), "minor"));
  out.patch = TRY(version_number(rest.substr(second + 1), "patch"));
  if (dash != std::string_view::npos)
    for (std::string_view one : split_at(before, '.')) {
      if (one.empty()) return cel_error("Prerelease is empty");
      if (!identifier_signs(one))
        return cel_error("Invalid character(s) found in prerelease \"" + std::string(one) + "\"");
      if (all_digits(one) && leading_zero(one))
        return cel_error("Numeric PreRelease version must not contain leading zeroes \"" +
                         std::string(one) + "\"");
      out.prerelease.emplace_back(one);
    }
  if (plus != std::string_view::npos)
    for (std::string_view one : split_at(build, '.')) {
      if (one.empty()) return cel_error("Build meta data is empty");
      if (!identifier_signs(one))
        return cel_error("Invalid character(s) found in build meta data \"" + std::string(one) +
                         "\"");
    }
  return out;
}

int compare(const Semver& a, const Semver& b) {
  if (a.major != b.major) return a.major < b.major ? -1 : 1;
  if (a.minor != b.minor) return a.minor < b.minor ? -1 : 1;
  if (a.patch != b.patch) return a.patch < b.patch ? -1 : 1;
  if (a.prerelease.empty() || b.prerelease.empty())
    return static_cast<int>(a.prerelease.empty()) - static_cast<int>(b.prerelease.empty());
  for (std::size_t i = 0; i < std::min(a.prerelease.size(), b.prerelease.size()); ++i)
    if (int order = compare_identifiers(a.prerelease[i], b.prerelease[i]); order != 0) return order;
  return sign_of(a.prerelease.size() <=> b.prerelease.size());
}

namespace {

bool normalizes(Arguments a) { return a.size() > 1 && a[1].is_true(); }

Result<Value> is_semver(Arguments a, Budget&) {
  return Value(Semver::parse(a[0].view(), normalizes(a)).has_value());
}
Result<Value> semver_of(Arguments a, Budget&) {
  return Value(TRY(Semver::parse(a[0].view(), normalizes(a))));
}
Result<Value> semver_major(Arguments a, Budget&) {
  return Value(static_cast<Int>(a[0].get<Semver>().major));
}
Result<Value> semver_minor(Arguments a, Budget&) {
  return Value(static_cast<Int>(a[0].get<Semver>().minor));
}
Result<Value> semver_patch(Arguments a, Budget&) {
  return Value(static_cast<Int>(a[0].get<Semver>().patch));
}
int order_of(Arguments a) { return compare(a[0].get<Semver>(), a[1].get<Semver>()); }
Result<Value> semver_compare(Arguments a, Budget&) { return Value(Int{order_of(a)}); }
Result<Value> semver_greater(Arguments a, Budget&) { return Value(order_of(a) > 0); }
Result<Value> semver_less(Arguments a, Budget&) { return Value(order_of(a) < 0); }

constexpr FunctionEntry kSemver[] = {
    {"isSemver", false, "(string) bool", is_semver},
    {"isSemver", false, "(string,bool) bool", is_semver},
    {"semver", false, "(string) semver", semver_of},
    {"semver", false, "(string,bool) semver", semver_of},
    {"major", true, "(semver) int", semver_major},
    {"minor", true, "(semver) int", semver_minor},
    {"patch", true, "(semver) int", semver_patch},
    {"isGreaterThan", true, "(semver,semver) bool", semver_greater},
    {"isLessThan", true, "(semver,semver) bool", semver_less},
    {"compareTo", true, "(semver,semver) int", semver_compare},
};

}  // namespace

std::span<const FunctionEntry> semver_functions() { return kSemver; }

}  // namespace hekla::cel
