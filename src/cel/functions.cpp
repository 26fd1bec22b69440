#include "cel/functions.h"

#include <map>

#include "base/check.h"

namespace hekla::cel {
namespace {

Overload overload_of(const FunctionEntry& entry) {
  Overload out;
  out.name = entry.name;
  out.member = entry.member;
  out.function = entry.function;
  const std::size_t close = entry.signature.rfind(") ");
  CHECK(entry.signature.starts_with('(') && close != std::string_view::npos,
        "a signature is \"(a,b) c\"");
  std::string_view inner = entry.signature.substr(1, close - 1);
  int depth = 0;
  for (std::size_t start = 0, i = 0; i <= inner.size() && !inner.empty(); ++i) {
    if (i < inner.size()) {
      depth += inner[i] == '<' ? 1 : inner[i] == '>' ? -1 : 0;
      if (inner[i] != ',' || depth > 0) continue;
    }
    out.parameters.push_back(parse_type(inner.substr(start, i - start)));
    start = i + 1;
  }
  out.result = parse_type(entry.signature.substr(close + 2));
  return out;
}

using Table = std::multimap<std::string_view, Overload>;

const Table& table() {
  static const Table made = [] {
    Table out;
    for (std::span<const FunctionEntry> library :
         {operator_functions(), conversion_functions(), string_functions(), list_functions(),
          time_functions(), kubernetes_functions(), network_functions(), semver_functions(),
          access_functions(), format_functions(), url_functions()})
      for (const FunctionEntry& entry : library) out.emplace(entry.name, overload_of(entry));
    return out;
  }();
  return made;
}

}  // namespace

std::vector<const Overload*> find_overloads(std::string_view name, bool member) {
  std::vector<const Overload*> out;
  auto [from, to] = table().equal_range(name);
  for (; from != to; ++from)
    if (from->second.member == member) out.push_back(&from->second);
  return out;
}

bool function_exists(std::string_view name) { return table().contains(name); }

}  // namespace hekla::cel
