// The content's origin knows a browser by a pass that the page gave it, never by the page's
// cookies.
#include "base/crypto.h"
#include "gateway/login/login.h"
#include "gateway/request/answers.h"
#include "gateway/request/content_origin.h"
#include "gateway/request/cookies.h"
#include "gateway/request/return_path.h"

namespace hekla::gateway {
namespace {

constexpr long kStateSeconds = 900;  // a login may come in between

std::string path_with(std::initializer_list<std::pair<std::string_view, std::string>> query) {
  std::string out(kContentPath);
  char mark = '?';
  for (const auto& [name, value] : query) {
    out.append(1, mark).append(name).append("=").append(net::url_encode(value));
    mark = '&';
  }
  return out;
}

NewCookie state_cookie(std::string value, bool secure, long seconds) {
  return {.name = kContentStateCookie,
          .value = std::move(value),
          .path = std::string(kContentPath),
          .secure = secure,
          .max_age_seconds = seconds};
}

}  // namespace

std::optional<Sessions::Found> Login::known_content(const net::Headers& headers) {
  for (const std::string& pass : cookie_values(headers, kContentCookie))
    if (std::optional<Sessions::Found> found = sessions_.find_content(pass)) return found;
  return std::nullopt;
}

net::Response Login::ask_page(const Visit& visit) {
  return ask_page_at(visit, page_origin_of(visit.origin), visit.path.target());
}

net::Response Login::ask_page_at(const Visit& visit, const std::string& page,
                                 const std::string& return_to) {
  const std::string kept = random_secret(*options_.rng);
  net::Response response =
      redirect(302, page + path_with({{"state", sha256_hex(kept)}, {"rd", return_to}}));
  response.headers.add("Set-Cookie", set_cookie(state_cookie(kept, visit.secure(), kStateSeconds)));
  return response;
}

net::Response Login::lead_to_content(const Visit& visit) {
  const std::string content = content_origin_of(visit.origin), target = visit.path.target();
  if (page_origin_of(content) == visit.origin) return redirect(302, content + target);
  return redirect(302, content + path_with({{"page", visit.origin}, {"rd", target}}));
}

net::Response Login::hand_over(const Visit& visit, std::string_view secret) {
  const net::Query query = net::Query::parse(visit.path.query);
  const std::string origin = content_origin_of(visit.origin);
  const std::string state(query.get("state"));
  if (visit.request.method != "GET" || origin.empty() || state.size() != 64)
    return refusal(visit,
                   Error{Code::bad_request, "no page of the content's origin asked for this"});
  const std::string code =
      codes_.issue({content_pass(secret), state, return_path(query.get("rd"))});
  return redirect(302, origin + path_with({{"code", code}}));
}

net::Response Login::take_over(const Visit& visit) {
  const net::Query query = net::Query::parse(visit.path.query);
  if (const std::string page(query.get("page")); content_origin_of(page) == visit.origin) {
    const std::string return_to = return_path(query.get("rd"));
    return known_content(visit.request.headers) ? redirect(302, return_to)
                                                : ask_page_at(visit, page, return_to);
  }
  const std::string code(query.get("code"));
  std::optional<ContentCodes::Pass> pass;
  if (visit.request.method == "GET")
    pass = codes_.redeem(code, cookie_values(visit.request.headers, kContentStateCookie));
  if (!pass)
    return refusal(visit, Error{Code::forbidden,
                                "the code was used, is too old or is another browser's; open the "
                                "program from the dashboard again"});
  net::Response response = redirect(302, pass->return_to);
  response.headers.add("Set-Cookie", set_cookie({.name = kContentCookie,
                                                 .value = pass->cookie,
                                                 .secure = visit.secure(),
                                                 .max_age_seconds = 7 * 86400}));
  response.headers.add("Set-Cookie", set_cookie(state_cookie("", visit.secure(), 0)));
  return response;
}

}  // namespace hekla::gateway
