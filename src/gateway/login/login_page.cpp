#include "gateway/login/login_page.h"

#include "base/markup.h"
#include "gateway/request/answers.h"

namespace hekla::gateway {
namespace {

struct Words {
  std::string_view language, title, email, password, button, other;
};
constexpr Words kEnglish{
    "en", "Log in to Your Account", "Email Address", "Password", "Login", "Log in with "};
constexpr Words kChinese{"zh-CN", "登录您的账户", "电子邮箱", "密码", "登录", "使用以下方式登录："};

}  // namespace

net::Response login_page(int status, const LoginPage& page) {
  const Words& words = page.chinese ? kChinese : kEnglish;
  std::string body = "<!doctype html><html lang=\"";
  body.append(words.language)
      .append("\"><head><meta charset=\"utf-8\"><title>Hekla</title>")
      .append("<meta name=\"viewport\" content=\"width=device-width\">")
      .append("<link rel=\"stylesheet\" href=\"")
      .append(kStylePath)
      .append("\"></head><body><main><h1>")
      .append(words.title)
      .append("</h1>");
  if (page.passwords) {
    body.append("<form method=\"post\" action=\"")
        .append(escape_markup(page.action))
        .append("\"><label for=\"login\">")
        .append(words.email)
        .append("</label><input required id=\"login\" name=\"login\" type=\"text\" ")
        .append("autocomplete=\"username\" autofocus value=\"")
        .append(escape_markup(page.email))
        .append("\"><label for=\"password\">")
        .append(words.password)
        .append("</label><input required id=\"password\" name=\"password\" type=\"password\" ")
        .append("autocomplete=\"current-password\">");
    if (!page.error.empty())
      body.append("<p id=\"login-error\" class=\"error\" role=\"alert\">")
          .append(escape_markup(page.error))
          .append("</p>");
    body.append("<button id=\"submit-login\" type=\"submit\">")
        .append(words.button)
        .append("</button></form>");
  } else if (!page.error.empty()) {
    body.append("<p id=\"login-error\" class=\"error\" role=\"alert\">")
        .append(escape_markup(page.error))
        .append("</p>");
  }
  for (const auto& [title, link] : page.others)
    body.append("<a class=\"button\" href=\"")
        .append(escape_markup(link))
        .append("\">")
        .append(words.other)
        .append(escape_markup(title))
        .append("</a>");
  body += "</main></body></html>\n";
  return html_answer(status, std::move(body));
}

}  // namespace hekla::gateway
