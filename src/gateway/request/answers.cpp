#include "gateway/request/answers.h"

#include <cctype>

#include "base/markup.h"

namespace hekla::gateway {

void set_page_security(net::Headers& headers, std::string_view forms_lead_to) {
  headers.set("Content-Security-Policy",
              "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self' " +
                  std::string(forms_lead_to) + "; frame-ancestors 'none'; base-uri 'none'");
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("X-Frame-Options", "DENY");
  headers.set("Referrer-Policy", "same-origin");
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  headers.set("Cache-Control", "no-store");
}

net::Response redirect(int status, std::string location) {
  net::Response response;
  response.status = status;
  set_page_security(response.headers);
  response.headers.set("Location", std::move(location));
  return response;
}

net::Response json_answer(int status, const json::Value& body) {
  net::Response response;
  response.status = status;
  set_page_security(response.headers);
  response.headers.set("Content-Type", "application/json");
  response.body = json::serialize(body) + "\n";
  return response;
}

net::Response html_answer(int status, std::string body) {
  net::Response response;
  response.status = status;
  set_page_security(response.headers);
  response.headers.set("Content-Type", "text/html; charset=utf-8");
  response.body = std::move(body);
  return response;
}

net::Response message_page(int status, std::string_view title, std::string_view text,
                           std::string_view more) {
  std::string body = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>";
  body.append(escape_markup(title))
      .append("</title><meta name=\"viewport\" content=\"width=device-width\">")
      .append("<link rel=\"stylesheet\" href=\"")
      .append(kStylePath)
      .append("\"></head><body><main><h1>")
      .append(escape_markup(title))
      .append("</h1><p>")
      .append(escape_markup(text))
      .append("</p>")
      .append(more)
      .append("</main></body></html>\n");
  return html_answer(status, std::move(body));
}

namespace {

// Messages begin small and end without a stop: programs put them together.
std::string as_sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (!text.ends_with('.')) text += '.';
  return text;
}

}  // namespace

net::Response refusal(const Visit& visit, const Error& error, std::string_view user) {
  const int status = http_status_of(error.code);
  if (visit.wants_page()) {
    const std::string_view title = status == 403   ? "You may not open this"
                                   : status == 404 ? "There is nothing here"
                                                   : "This did not work";
    return message_page(status, title, as_sentence(error.message),
                        "<p><a href=\"/\">Back to the dashboard</a></p>");
  }
  return json_answer(
      status,
      json::Object{{"success", false}, {"status", status}, {"log", error.message}, {"user", user}});
}

std::string_view style_sheet() {
  return ":root{color-scheme:light dark;--back:#f3f4f6;--card:#fff;--text:#16202c;--dim:#5a6675;"
         "--line:#cbd2da;--key:#0b57d0;--bad:#b3261e}"
         "@media(prefers-color-scheme:dark){:root{--back:#10151b;--card:#1a212a;--text:#e6ebf1;"
         "--dim:#9aa7b5;--line:#3a4653;--key:#8ab4f8;--bad:#f2a29b}}"
         "body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--back);"
         "color:var(--text);font:16px/1.5 system-ui,sans-serif}"
         "main{width:min(24rem,calc(100vw - 5rem));background:var(--card);padding:2rem;"
         "border:1px solid var(--line);border-radius:12px}"
         "h1{font-size:1.3rem;margin:0 0 1rem}label{display:block;margin:1rem 0 .25rem}"
         "input{box-sizing:border-box;width:100%;padding:.6rem;font:inherit;color:inherit;"
         "background:transparent;border:1px solid var(--line);border-radius:6px}"
         "button,.button{display:block;box-sizing:border-box;width:100%;margin-top:1.5rem;"
         "padding:.7rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;"
         "color:var(--card);background:var(--key);border:0;border-radius:6px;cursor:pointer}"
         ":focus-visible{outline:3px solid var(--key);outline-offset:2px}"
         "a{color:var(--key)}.error{color:var(--bad)}.dim{color:var(--dim);font-size:.9rem}";
}

}  // namespace hekla::gateway
