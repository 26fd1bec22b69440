#include "gateway/request/path.h"

#include <algorithm>
#include <vector>

namespace hekla::gateway {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// Characters that stand for themselves in a path; "[" and the like are seen in the wild.
bool is_path_char(unsigned char c) {
  return is_unreserved(c) || c == '/' || std::string_view("!$&'()*+,=:@[]|^`{}\"<>").contains(c);
}

std::unexpected<Error> bad(const std::string& why) {
  return fail(Code::bad_request, "the path of the request " + why);
}

Result<void> append_encoded(std::string_view path, std::size_t& at, std::string& out) {
  if (at + 2 >= path.size()) return bad("ends within a percent sign's digits");
  const int high = hex_digit(path[at + 1]), low = hex_digit(path[at + 2]);
  if (high < 0 || low < 0) return bad("has a percent sign without two hexadecimal digits");
  const auto byte = static_cast<unsigned char>(high * 16 + low);
  if (byte == '/' || byte == '\\') return bad("has an encoded slash");
  if (byte < 0x20 || byte == 0x7f) return bad("has an encoded control character");
  if (is_unreserved(byte)) {
    out += static_cast<char>(byte);
  } else {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  at += 2;
  return {};
}

// Without "." and ".."; a path that ends in one of them ends in a slash.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool ends_in_slash = false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view one = path.substr(0, end);
    path.remove_prefix(end);
    ends_in_slash = one.empty() || one == "." || one == "..";
    if (one == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (!one.empty() && one != ".") {
      kept.push_back(one);
    }
  }
  std::string out;
  for (std::string_view one : kept) out.append("/").append(one);
  if (ends_in_slash || out.empty()) out += '/';
  return out;
}

}  // namespace

std::string Path::target(std::string_view path) const {
  std::string out(path);
  if (has_query) out.append("?").append(query);
  return out;
}

Result<Path> read_path(std::string_view target) {
  if (target.contains('#')) return bad("has a fragment");
  Path read;
  const std::size_t question = target.find('?');
  if (question != std::string_view::npos) {
    read.has_query = true;
    read.query = target.substr(question + 1);
    for (unsigned char c : read.query)
      if (c <= 0x20 || c == 0x7f) return bad("has a control character in its query");
    target = target.substr(0, question);
  }
  if (!target.starts_with('/')) return bad("does not begin with a slash");
  std::string decoded;
  decoded.reserve(target.size());
  for (std::size_t at = 0; at < target.size(); ++at) {
    const char c = target[at];
    if (c == '%') {
      TRY(append_encoded(target, at, decoded));
    } else if (c == '\\') {
      decoded += '/';
    } else if (c == ';') {
      return bad("has path parameters");
    } else if (is_path_char(static_cast<unsigned char>(c))) {
      decoded += c;
    } else {
      return bad("has a character that no URL has");
    }
  }
  if (decoded.contains("//")) return bad("has two slashes in a row");
  read.text = without_dots(decoded);
  return read;
}

std::string_view segment(std::string_view path, std::size_t index) {
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::string_view one = path.substr(0, path.find('/'));
    if (index-- == 0) return one;
    path.remove_prefix(one.size());
  }
  return {};
}

}  // namespace hekla::gateway
