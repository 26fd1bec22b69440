#include "dashboard/page/assets.h"

#include <algorithm>

#include "base/check.h"
#include "net/gzip.h"

namespace hekla::dashboard {

namespace {

constexpr std::size_t kLargest = std::size_t{16} << 20;  // of a file, inflated

// Scripts, styles, images, connections and frames of the page's own origin alone. The terminal's
// program writes its theme as <style> elements, and so its document, and no other, may have them.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src "
    "'self'; connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; "
    "form-action 'self'; object-src 'none'";
constexpr std::string_view kTerminalPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'; object-src 'none'";

void protect(net::Headers& headers, std::string_view policy) {
  headers.set("Content-Security-Policy", std::string(policy));
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("Referrer-Policy", "same-origin");
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
}

bool takes_gzip(const net::Request& request) {
  return request.headers.get("Accept-Encoding").find("gzip") != std::string_view::npos;
}

std::string missing_page() {
  return "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Hekla</title>"
         "<h1>This binary was built without its page</h1><p>" +
         std::string(missing_page_text()) +
         "</p><p>Everything else works: the APIs below this address, kubectl, and <code>hekla"
         "</code>'s own commands.</p></html>\n";
}

}  // namespace

const Asset* find_asset(std::string_view name) {
  const std::span<const Asset> all = assets();
  auto found = std::ranges::find(all, name, &Asset::name);
  return found == all.end() ? nullptr : &*found;
}

net::Response asset_response(const Asset& asset, const net::Request& request) {
  net::Response out;
  const std::string tag = "\"" + std::string(asset.hash) + "\"";
  protect(out.headers, asset.name == "terminal.html" ? kTerminalPolicy : kPolicy);
  out.headers.set("ETag", tag);
  out.headers.set("Cache-Control",
                  asset.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  out.headers.set("Vary", "Accept-Encoding");
  if (request.headers.get("If-None-Match") == tag) {
    out.status = 304;
    return out;
  }
  out.headers.set("Content-Type", std::string(asset.type));
  if (takes_gzip(request)) {
    out.headers.set("Content-Encoding", "gzip");
    out.body = asset.gzip;
    return out;
  }
  net::GzipReader reader;
  Result<void> read = reader.feed(asset.gzip, out.body, kLargest);
  CHECK(read && reader.complete(), "what was built in is whole");
  return out;
}

net::Response document_response(std::string_view name, const net::Request& request) {
  if (const Asset* asset = find_asset(name)) return asset_response(*asset, request);
  net::Response out;
  protect(out.headers, kPolicy);
  out.headers.set("Content-Type", "text/html; charset=utf-8");
  out.headers.set("Cache-Control", "no-cache");
  out.body = missing_page();
  return out;
}

}  // namespace hekla::dashboard
