// URLs as Go's net/url reads those of requests.
#include <algorithm>

#include "cel/functions.h"
#include "json/go_text.h"

namespace hekla::cel {
namespace {

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool in(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }
bool unreserved(char c) {
  return (static_cast<unsigned char>(c) < 0x80 && std::isalnum(c) != 0) || in("-_.~", c);
}

// Bytes for their escapes; the escape that is none in the error.
std::expected<std::string, std::string> unescaped(std::string_view text,
                                                  bool plus_is_space = false) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' && plus_is_space ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2]))
      return std::unexpected("invalid URL escape " + json::go_quote(text.substr(i, 3)));
    out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return out;
}

std::string escaped_path(std::string_view path) {
  const bool valid = std::all_of(
      path.begin(), path.end(), [](char c) { return unreserved(c) || in("!$&'()*+,;=:@[]%/", c); });
  if (valid) return std::string(path);
  std::string out;
  for (char c : unescaped(path).value_or("")) {
    if (unreserved(c) || in("$&+,/:;=@", c)) {
      out += c;
      continue;
    }
    static constexpr char kDigits[] = "0123456789ABCDEF";
    out += '%';
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

using Problem = std::optional<std::string>;

Problem port_problem(std::string_view port) {
  const bool fine =
      port.empty() ||
      (port[0] == ':' && std::all_of(port.begin() + 1, port.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0; }));
  if (fine) return std::nullopt;
  return "invalid port " + json::go_quote(port) + " after host";
}

Problem read_authority(std::string_view text, Url& out) {
  std::string_view host = text;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    host = text.substr(at + 1);
    for (char c : text.substr(0, at))
      if (!unreserved(c) && !in(":!$&'()*+,;=%@", c)) return "net/url: invalid userinfo";
  }
  std::size_t port = host.rfind(':');
  if (host.starts_with('[')) {
    const std::size_t bracket = host.rfind(']');
    if (bracket == std::string_view::npos) return "missing ']' in host";
    port = bracket + 1;
  }
  if (port < host.size())
    if (Problem problem = port_problem(host.substr(port))) return problem;
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (host[i] == '%') return "invalid URL escape " + json::go_quote(host.substr(i, 3));
    if (static_cast<unsigned char>(host[i]) < 0x80 && !unreserved(host[i]) &&
        !in("!$&'()*+,;=:[]<>\"", host[i]))
      return "invalid character " + json::go_quote(host.substr(i, 1)) + " in host name";
  }
  out.host = host;
  return std::nullopt;
}

// Takes the scheme off the text.
Problem read_scheme(std::string_view& text, Url& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x80 && std::isalpha(c) != 0) continue;
    if (c == ':' && i == 0) return "missing protocol scheme";
    if (c == ':') {
      for (char one : text.substr(0, i)) out.scheme += static_cast<char>(std::tolower(one));
      text.remove_prefix(i + 1);
      return std::nullopt;
    }
    if (i == 0 || !(std::isdigit(static_cast<unsigned char>(c)) != 0 || in("+-.", c))) break;
  }
  return std::nullopt;
}

// `of_request`: nothing relative; what looks like a fragment belongs to the rest.
Problem read_url(std::string_view text, bool of_request, Url& out) {
  if (text.empty()) return "empty url";
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "net/url: invalid control character in URL";
  if (text == "*") {
    out.path = "*";
    return std::nullopt;
  }
  if (Problem problem = read_scheme(text, out)) return problem;
  const std::size_t question = text.find('?');
  if (question != std::string_view::npos) out.query = text.substr(question + 1);
  text = text.substr(0, question);
  if (!text.starts_with('/')) {
    if (out.scheme.empty() && of_request) return "invalid URI for request";
    return std::nullopt;  // opaque: mailto:somebody
  }
  if ((!out.scheme.empty() || (!of_request && !text.starts_with("///"))) &&
      text.starts_with("//")) {
    const std::size_t end = std::min(text.find('/', 2), text.size());
    if (Problem problem = read_authority(text.substr(2, end - 2), out)) return problem;
    text.remove_prefix(end);
  }
  if (auto path = unescaped(text); !path) return path.error();
  out.path = escaped_path(text);
  return std::nullopt;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  // What a request may ask for is judged first, then the fragment goes.
  auto read = [&](std::string_view part, bool of_request) -> Result<Url> {
    Url out;
    if (Problem problem = read_url(part, of_request, out))
      return cel_error("parse " + json::go_quote(text) + ": " + *problem);
    return out;
  };
  TRY(read(text, true));
  return read(text.substr(0, text.find('#')), false);
}

namespace {

Result<Value> is_url(Arguments a, Budget&) { return Value(Url::parse(a[0].view()).has_value()); }
Result<Value> url_of(Arguments a, Budget&) {
  Result<Url> url = Url::parse(a[0].view());
  if (!url)
    return cel_error("URL parse error during conversion from string: " + url.error().message);
  return Value(std::move(*url));
}
Result<Value> url_scheme(Arguments a, Budget&) { return Value::text(a[0].get<Url>().scheme); }
Result<Value> url_host(Arguments a, Budget&) { return Value::text(a[0].get<Url>().host); }
// The port's colon: behind the bracket of an IPv6 address.
std::size_t port_colon(const std::string& host) {
  const std::size_t bracket = host.rfind(']'), colon = host.rfind(':');
  if (colon == std::string::npos || (bracket != std::string::npos && colon < bracket))
    return host.size();
  return colon;
}
Result<Value> url_hostname(Arguments a, Budget&) {
  const std::string& host = a[0].get<Url>().host;
  std::string name = host.substr(0, port_colon(host));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return Value::text(std::move(name));
}
Result<Value> url_port(Arguments a, Budget&) {
  const std::string& host = a[0].get<Url>().host;
  const std::size_t colon = port_colon(host);
  return Value::text(colon >= host.size() ? "" : host.substr(colon + 1));
}
Result<Value> url_path(Arguments a, Budget&) { return Value::text(a[0].get<Url>().path); }

Result<Value> url_query(Arguments a, Budget& budget) {
  std::vector<std::pair<std::string, std::vector<Value>>> found;
  std::string_view rest = a[0].get<Url>().query;
  if (!budget.spend(rest.size())) return out_of_budget();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty() || in(pair, ';')) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto key = unescaped(pair.substr(0, equals), true);
    auto value = unescaped(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!key || !value) continue;
    auto known = std::find_if(found.begin(), found.end(),
                              [&](const auto& one) { return one.first == *key; });
    if (known == found.end()) known = found.insert(found.end(), {std::move(*key), {}});
    known->second.push_back(Value::text(std::move(*value)));
  }
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [key, values] : found)
    entries.emplace_back(Value::text(std::move(key)), Value::list(std::move(values)));
  return Value::map(std::move(entries));
}

constexpr FunctionEntry kUrls[] = {
    {"isURL", false, "(string) bool", is_url},
    {"url", false, "(string) url", url_of},
    {"getScheme", true, "(url) string", url_scheme},
    {"getHost", true, "(url) string", url_host},
    {"getHostname", true, "(url) string", url_hostname},
    {"getPort", true, "(url) string", url_port},
    {"getEscapedPath", true, "(url) string", url_path},
    {"getQuery", true, "(url) map<string,list<string>>", url_query},
};

}  // namespace

std::span<const FunctionEntry> url_functions() { return kUrls; }

}  // namespace hekla::cel
