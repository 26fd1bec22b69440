// Links in pages that come through a proxy, as upstream rewrites them.
#include <algorithm>
#include <array>

#include "apiserver/connect/proxy.h"
#include "net/text.h"

namespace hekla::apiserver {

namespace {

struct LinkAttribute {
  std::string_view tag, attribute;
};
// Where HTML has URLs.
constexpr std::array kLinkAttributes = std::to_array<LinkAttribute>({
    {"a", "href"},          {"applet", "codebase"},   {"area", "href"},
    {"audio", "src"},       {"base", "href"},         {"blockquote", "cite"},
    {"body", "background"}, {"button", "formaction"}, {"command", "icon"},
    {"del", "cite"},        {"embed", "src"},         {"form", "action"},
    {"frame", "longdesc"},  {"frame", "src"},         {"head", "profile"},
    {"html", "manifest"},   {"iframe", "longdesc"},   {"iframe", "src"},
    {"img", "longdesc"},    {"img", "src"},           {"img", "usemap"},
    {"input", "src"},       {"input", "usemap"},      {"input", "formaction"},
    {"ins", "cite"},        {"link", "href"},         {"object", "classid"},
    {"object", "codebase"}, {"object", "data"},       {"object", "usemap"},
    {"q", "cite"},          {"script", "src"},        {"source", "src"},
    {"video", "poster"},    {"video", "src"},
});

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

bool has_link(std::string_view tag, std::string_view attribute) {
  return std::ranges::any_of(kLinkAttributes, [&](const LinkAttribute& one) {
    return net::equal_ignoring_case(one.tag, tag) &&
           net::equal_ignoring_case(one.attribute, attribute);
  });
}

// Reads tags, copying everything but the links it changes.
class LinkRewriter {
 public:
  LinkRewriter(std::string_view html, std::string_view prefix, std::string_view host)
      : html_(html), prefix_(prefix), host_(host) {}

  std::string run() {
    while (at_ < html_.size()) {
      if (html_.substr(at_).starts_with("<!--")) {
        copy_past("-->");
      } else if (html_[at_] == '<' && at_ + 1 < html_.size() &&
                 std::isalpha(static_cast<unsigned char>(html_[at_ + 1]))) {
        tag();
      } else {
        out_ += html_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  void copy_past(std::string_view mark) {
    std::size_t end = html_.find(mark, at_);
    end = end == std::string_view::npos ? html_.size() : end + mark.size();
    out_ += html_.substr(at_, end - at_);
    at_ = end;
  }
  template <class Test>
  std::string_view take_while(Test test) {
    const std::size_t begin = at_;
    while (at_ < html_.size() && test(html_[at_])) ++at_;
    out_ += html_.substr(begin, at_ - begin);
    return html_.substr(begin, at_ - begin);
  }
  void tag() {
    out_ += html_[at_++];
    const std::string_view name =
        take_while([](char c) { return !is_space(c) && c != '>' && c != '/'; });
    while (at_ < html_.size()) {
      take_while([](char c) { return is_space(c) || c == '/'; });
      if (at_ == html_.size()) return;
      if (html_[at_] == '>') break;
      attribute(name);
    }
    if (at_ < html_.size()) out_ += html_[at_++];
    // The text of a script is not HTML.
    if (net::equal_ignoring_case(name, "script")) copy_to_end_of_script();
  }
  void attribute(std::string_view tag) {
    const std::string_view name =
        take_while([](char c) { return !is_space(c) && c != '=' && c != '>' && c != '/'; });
    if (name.empty()) {
      out_ += html_[at_++];
      return;
    }
    take_while(is_space);
    if (at_ == html_.size() || html_[at_] != '=') return;
    out_ += html_[at_++];
    take_while(is_space);
    if (at_ == html_.size()) return;
    const char quote = html_[at_] == '"' || html_[at_] == '\'' ? html_[at_] : '\0';
    if (quote) out_ += html_[at_++];
    const std::size_t begin = at_;
    while (at_ < html_.size() &&
           (quote ? html_[at_] != quote : !is_space(html_[at_]) && html_[at_] != '>'))
      ++at_;
    const std::string_view value = html_.substr(begin, at_ - begin);
    out_ += has_link(tag, name) ? prefixed_link(value, prefix_, host_) : std::string(value);
    if (quote && at_ < html_.size()) out_ += html_[at_++];
  }
  void copy_to_end_of_script() {
    constexpr std::string_view kEnd = "</script";
    std::size_t end = at_;
    while (end < html_.size() && !net::equal_ignoring_case(html_.substr(end, kEnd.size()), kEnd))
      ++end;
    out_ += html_.substr(at_, end - at_);
    at_ = end;
  }

  const std::string_view html_, prefix_, host_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string prefixed_link(std::string_view link, std::string_view prefix, std::string_view host) {
  std::string_view path = link;
  if (const std::size_t scheme = link.find("://");
      scheme != std::string_view::npos && scheme < link.find('/')) {
    const std::string_view rest = link.substr(scheme + 3);
    path = rest.substr(std::min(rest.find('/'), rest.size()));
    if (rest.substr(0, rest.size() - path.size()) != host)
      return std::string(link);  // somebody else's
  } else if (link.starts_with("//")) {
    return std::string(link);
  }
  if (!path.starts_with('/') || path.starts_with(prefix)) return std::string(link);
  const std::string_view before = link.substr(0, link.size() - path.size());
  return std::string(before) + std::string(prefix) + std::string(path);
}

std::string prefixed_links(std::string_view html, std::string_view prefix, std::string_view host) {
  return LinkRewriter(html, prefix, host).run();
}

}  // namespace hekla::apiserver
