#include "gateway/request/return_path.h"

#include "gateway/request/path.h"

namespace hekla::gateway {

std::string return_path(std::string_view wanted) {
  constexpr std::size_t kLongest = 2048;
  const std::string_view fragment =
      wanted.contains('#') ? wanted.substr(wanted.find('#')) : std::string_view();
  const std::string_view target = wanted.substr(0, wanted.size() - fragment.size());
  if (wanted.size() > kLongest || target.contains('\\')) return "/";
  for (unsigned char c : wanted)
    if (c <= 0x20 || c >= 0x7f) return "/";
  const auto path = read_path(target);
  // Dots were resolved: what they hid is a path of ours again, but nobody writes such a link.
  if (!path || path->target() != target) return "/";
  for (std::string_view own : {"/dex/", "/oauth2/", "/logout", "/hekla/login", "/login/oidc"})
    if (path->text.starts_with(own)) return "/";
  return std::string(wanted);
}

}  // namespace hekla::gateway
