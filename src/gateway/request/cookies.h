// Cookies: ours are read at the door and never leave it; all others pass byte for byte.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace hekla::gateway {

// The names of both generations: oauth2-proxy's since Kubeflow 1.9, oidc-authservice's before.
inline constexpr std::string_view kSessionCookie = "oauth2_proxy_kubeflow";
inline constexpr std::string_view kOldSessionCookie = "authservice_session";
inline constexpr std::string_view kStateCookie = "oauth2_proxy_kubeflow_csrf";
inline constexpr std::string_view kContentCookie = "hekla_content";
inline constexpr std::string_view kContentStateCookie = "hekla_content_state";
inline constexpr std::string_view kCsrfCookie = "XSRF-TOKEN";

// Also the numbered parts of a long session cookie, and other cases: "OAUTH2_proxy_kubeflow_1".
bool is_own_cookie(std::string_view name);

// Every value of the cookie, in the order sent. Cookies may repeat: a page of the same host on
// another path or port can set one.
std::vector<std::string> cookie_values(const net::Headers& headers, std::string_view name);

// Cookie lines without ours; what is left keeps its bytes and its order. A line of ours alone goes.
void strip_own_cookies(net::Headers& headers);
// An answer's Set-Cookie lines without ours: no pod gives a visitor a session, or ends one.
void strip_own_set_cookies(net::Headers& headers);

struct NewCookie {
  std::string_view name;
  std::string value;
  std::string path = "/";
  bool secure = false, http_only = true;
  std::string_view same_site = "Lax";
  long max_age_seconds = -1;  // negative: as long as the browser runs; 0: removed
};
std::string set_cookie(const NewCookie& cookie);

}  // namespace hekla::gateway
