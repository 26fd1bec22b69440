#include "agent/image/registry/reference.h"

#include <algorithm>

namespace hekla::agent {
namespace {

constexpr std::size_t kLongestName = 255, kLongestTag = 128, kDigestDigits = 64;
constexpr std::string_view kSha256 = "sha256:";

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_word(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

// Letters and digits in groups, joined by one dot, one or two underscores, or any number of dashes.
bool is_path_component(std::string_view part) {
  if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back()))
    return false;
  for (std::size_t i = 0; i < part.size();) {
    if (is_lower_or_digit(part[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < part.size() && part[end] == part[i]) ++end;
    std::size_t run = end - i;
    bool good = part[i] == '-' || (part[i] == '.' && run == 1) || (part[i] == '_' && run <= 2);
    if (!good || !is_lower_or_digit(part[end])) return false;
    i = end;
  }
  return true;
}

bool is_repository(std::string_view text) {
  while (true) {
    std::size_t slash = text.find('/');
    if (!is_path_component(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= kLongestTag && is_word(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

bool is_registry(std::string_view text) {
  std::size_t colon = text.starts_with('[') ? text.find("]:") : text.rfind(':');
  std::string_view host =
      text.substr(0, colon == std::string_view::npos || !text.starts_with('[') ? colon : colon + 1);
  std::string_view port = colon == std::string_view::npos
                              ? std::string_view("1")
                              : text.substr(text.starts_with('[') ? colon + 2 : colon + 1);
  if (host.empty() || port.empty()) return false;
  bool six = host.starts_with('[') && host.ends_with(']');
  auto is_edge = [](char c) { return is_word(c) && c != '_'; };
  // Labels of a name are not empty: no "..", no dot or dash at an end.
  if (!six && (!is_edge(host.front()) || !is_edge(host.back()) ||
               host.find("..") != std::string_view::npos))
    return false;
  return std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }) &&
         std::ranges::all_of(host, [&](char c) {
           return (is_word(c) && c != '_') || c == '.' || c == '-' ||
                  (six && (c == ':' || c == '[' || c == ']'));
         });
}

// The first part is a registry when it cannot be a directory of Docker Hub.
bool names_a_registry(std::string_view first) {
  return first == "localhost" || first.find_first_of(".:[") != std::string_view::npos ||
         std::ranges::any_of(first, [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

bool is_sha256_digest(std::string_view text) {
  return text.starts_with(kSha256) && text.size() == kSha256.size() + kDigestDigits &&
         std::ranges::all_of(text.substr(kSha256.size()), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string ImageReference::canonical() const {
  std::string out = repository_name();
  if (!tag.empty()) out += ":" + tag;
  if (!digest.empty()) out += "@" + digest;
  return out;
}

Result<ImageReference> parse_reference(std::string_view text) {
  auto bad = [] { return fail(Code::invalid, "invalid reference format"); };
  ImageReference out;
  if (std::size_t at = text.find('@'); at != std::string_view::npos) {
    out.digest = text.substr(at + 1);
    if (!is_sha256_digest(out.digest)) return bad();
    text = text.substr(0, at);
  }
  std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && text.find('/', colon) == std::string_view::npos) {
    out.tag = text.substr(colon + 1);
    if (!is_tag(out.tag)) return bad();
    text = text.substr(0, colon);
  }
  if (out.tag.empty() && out.digest.empty()) out.tag = "latest";
  std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && names_a_registry(text.substr(0, slash))) {
    out.registry = text.substr(0, slash);
    text.remove_prefix(slash + 1);
    if (!is_registry(out.registry)) return bad();
    if (out.registry == "index.docker.io") out.registry = "docker.io";
  } else {
    out.registry = "docker.io";
  }
  if (std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; }))
    return fail(Code::invalid, "invalid reference format: repository name (" + std::string(text) +
                                   ") must be lowercase");
  if (!is_repository(text)) return bad();
  bool official = out.registry == "docker.io" && text.find('/') == std::string_view::npos;
  out.repository = (official ? "library/" : "") + std::string(text);
  if (out.repository.size() > kLongestName)
    return fail(Code::invalid, "repository name must not be more than 255 characters");
  return out;
}

std::string pull_policy(const std::string& declared, const ImageReference& image) {
  if (!declared.empty()) return declared;
  return image.digest.empty() && image.tag == "latest" ? "Always" : "IfNotPresent";
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Greedy with one point of return: the last star takes one character more each time.
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace hekla::agent
