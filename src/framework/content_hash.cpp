#include "framework/content_hash.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace hekla::framework {
namespace {

template <class Number, Number kOffset, Number kPrime>
class Fnv1a {
 public:
  void add(std::string_view text) {
    for (char c : text) {
      hash_ ^= static_cast<unsigned char>(c);
      hash_ *= kPrime;
    }
  }
  Number value() const { return hash_; }

 private:
  Number hash_ = kOffset;
};
using Fnv32 = Fnv1a<std::uint32_t, 2166136261u, 16777619u>;
using Fnv64 = Fnv1a<std::uint64_t, 14695981039346656037ull, 1099511628211ull>;

// Members in alphabetical order: the hash must not depend on how a client ordered them.
template <class Hash>
void add_sorted(Hash& hash, const json::Value& value) {
  if (value.is_object()) {
    std::vector<std::string_view> keys;
    for (const auto& member : value.get_object()) keys.push_back(member.key());
    std::sort(keys.begin(), keys.end());
    hash.add("{");
    for (std::string_view key : keys) {
      hash.add(key);
      hash.add(":");
      add_sorted(hash, *json::find(value, key));
      hash.add(",");
    }
    hash.add("}");
  } else if (value.is_array()) {
    hash.add("[");
    for (const json::Value& one : value.get_array()) {
      add_sorted(hash, one);
      hash.add(",");
    }
    hash.add("]");
  } else {
    hash.add(json::serialize(value));
  }
}

}  // namespace

std::uint64_t content_hash(const json::Value& value) {
  Fnv64 hash;
  add_sorted(hash, value);
  return hash.value();
}

std::string hash_text(std::uint64_t hash) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; hash >>= 4) text[i] = kDigits[hash & 15];
  return text;
}

std::string template_hash(const json::Value& pod_template, std::optional<std::int64_t> collisions) {
  Fnv32 hash;
  add_sorted(hash, pod_template);
  if (collisions) hash.add(std::to_string(*collisions));
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text = std::to_string(hash.value());
  for (char& c : text) c = kLetters[static_cast<unsigned char>(c) % kLetters.size()];
  return text;
}

}  // namespace hekla::framework
