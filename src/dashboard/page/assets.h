// The page's files, as tools/web_build has put them into the binary: compressed, and named by a
// hash of their content, so that a browser never asks for one twice.
#pragma once

#include <span>
#include <string_view>

#include "net/http.h"

namespace hekla::dashboard {

struct Asset {
  std::string_view name, type;  // "main-AB12.js", "text/javascript; charset=utf-8"
  std::string_view gzip;
  std::string_view hash;
  bool immutable = false;  // its name changes with its content
};

// Generated. None when the page could not be built.
std::span<const Asset> assets();
// How this binary's page came about: empty, or why it is missing and what brings it.
std::string_view missing_page_text();

const Asset* find_asset(std::string_view name);
// With the rules a browser keeps to; inflated for clients that do not take gzip.
net::Response asset_response(const Asset& asset, const net::Request& request);
// index.html or terminal.html; where there is no page, a document that says how to build it.
net::Response document_response(std::string_view name, const net::Request& request);

}  // namespace hekla::dashboard
