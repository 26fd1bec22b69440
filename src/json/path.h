// The way to a value being built, as a chain on the stack: text is made only when somebody asks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hekla::json {

// As many repeated members of a document are reported; a hostile one may have millions, each with a long path.
inline constexpr std::size_t kMaxDuplicates = 100;

struct Path {
  const Path* parent = nullptr;
  std::string_view key{};
  std::size_t index = 0;
  bool is_index = false;

  void append_to(std::string& out) const {
    if (parent == nullptr) return;
    parent->append_to(out);
    if (is_index) {
      out += "[" + std::to_string(index) + "]";
    } else {
      if (!out.empty()) out.push_back('.');
      out += key;
    }
  }
  void report_to(std::vector<std::string>* duplicates) const {
    if (duplicates != nullptr && duplicates->size() < kMaxDuplicates) append_to(duplicates->emplace_back());
  }
};

}  // namespace hekla::json
