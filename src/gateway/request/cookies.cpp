#include "gateway/request/cookies.h"

#include <algorithm>

#include "net/text.h"

namespace hekla::gateway {
namespace {

// Calls `visit(whole, name, value)` for each cookie of a Cookie line; `whole` has its blanks.
template <class Visit>
void for_each_cookie(std::string_view line, Visit visit) {
  while (true) {
    const std::size_t end = std::min(line.find(';'), line.size());
    const std::string_view whole = line.substr(0, end);
    const std::size_t equals = std::min(whole.find('='), whole.size());
    visit(whole, net::trim(whole.substr(0, equals)),
          equals < whole.size() ? net::trim(whole.substr(equals + 1)) : std::string_view());
    if (end == line.size()) return;
    line.remove_prefix(end + 1);
  }
}

std::string cleaned(std::string_view line) {
  std::string kept;
  bool first = true;
  for_each_cookie(line, [&](std::string_view whole, std::string_view name, std::string_view) {
    if (is_own_cookie(name)) return;
    if (first)
      while (whole.starts_with(' ')) whole.remove_prefix(1);
    else
      kept += ';';
    kept += whole;
    first = false;
  });
  return kept;
}

template <class Change>
void rewrite(net::Headers& headers, Change change) {
  net::Headers out;
  out.reserve(headers.all().size());
  for (const auto& [name, value] : headers.all()) change(out, name, value);
  headers = std::move(out);
}

}  // namespace

bool is_own_cookie(std::string_view name) {
  auto begins = [&](std::string_view own) {
    return name.size() >= own.size() && net::equal_ignoring_case(name.substr(0, own.size()), own) &&
           (name.size() == own.size() || name[own.size()] == '_');
  };
  return begins(kSessionCookie) || begins(kOldSessionCookie) || begins(kContentCookie) ||
         begins("oidc_state_csrf");
}

std::vector<std::string> cookie_values(const net::Headers& headers, std::string_view wanted) {
  std::vector<std::string> found;
  for (std::string_view line : headers.get_all("Cookie"))
    for_each_cookie(line, [&](std::string_view, std::string_view name, std::string_view value) {
      if (name == wanted && !value.empty()) found.emplace_back(value);
    });
  return found;
}

void strip_own_cookies(net::Headers& headers) {
  if (!headers.has("Cookie")) return;
  rewrite(headers, [](net::Headers& out, const std::string& name, const std::string& value) {
    if (!net::equal_ignoring_case(name, "Cookie")) return out.add(name, value);
    if (std::string kept = cleaned(value); !net::trim(kept).empty()) out.add(name, std::move(kept));
  });
}

void strip_own_set_cookies(net::Headers& headers) {
  if (!headers.has("Set-Cookie")) return;
  rewrite(headers, [](net::Headers& out, const std::string& name, const std::string& value) {
    if (net::equal_ignoring_case(name, "Set-Cookie") &&
        is_own_cookie(net::trim(std::string_view(value).substr(0, value.find_first_of("=;")))))
      return;
    out.add(name, value);
  });
}

std::string set_cookie(const NewCookie& cookie) {
  std::string out(cookie.name);
  out.append("=").append(cookie.value).append("; Path=").append(cookie.path);
  if (cookie.max_age_seconds >= 0)
    out.append("; Max-Age=").append(std::to_string(cookie.max_age_seconds));
  if (cookie.http_only) out += "; HttpOnly";
  if (cookie.secure) out += "; Secure";
  return out.append("; SameSite=").append(cookie.same_site);
}

}  // namespace hekla::gateway
