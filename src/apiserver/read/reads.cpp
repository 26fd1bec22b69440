#include "apiserver/read/reads.h"

#include <cctype>
#include <charconv>
#include <limits>
#include <map>

#include "apiserver/object/storage.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/go_syntax.h"
#include "base/bytes.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

using store::Revision;

struct Token {
  std::int64_t revision = 0;  // -1: whatever is current
  std::string start;
};

std::string encode_token(std::int64_t revision, std::string_view start) {
  json::Object token;
  token.emplace("v", "meta.k8s.io/v1");
  token.emplace("rv", revision);
  token.emplace("start", start);
  return base64url_encode(json::serialize(json::Value(std::move(token))));
}

// Where Go's decoder of unpadded base64 gives up.
std::size_t bad_base64_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (!std::isalnum(c) && c != '-' && c != '_') return i;
  }
  return text.empty() ? 0 : text.size() - 1;
}

Result<Token> decode_token(const std::string& text, const std::string& prefix) {
  auto bad = [](const std::string& why) {
    return fail(Code::bad_request, "invalid continue token: continue key is not valid: " + why);
  };
  std::string_view trimmed = text;
  while (trimmed.ends_with('=')) trimmed.remove_suffix(1);
  std::optional<std::string> decoded = base64url_decode(trimmed);
  if (!decoded)
    return bad("illegal base64 data at input byte " + std::to_string(bad_base64_byte(trimmed)));
  Result<json::Value> token = json::parse(*decoded);
  if (!token) {
    const std::string why = go_syntax_error(*decoded);
    return bad(why.empty() ? token.error().message : why);
  }
  if (const std::string version(json::string_at(*token, {"v"})); version != "meta.k8s.io/v1")
    return bad("server does not recognize this encoded version " + version);
  Token result{json::int_at(*token, {"rv"}), std::string(json::string_at(*token, {"start"}))};
  if (result.revision == 0)
    return bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (result.start.empty() || !result.start.starts_with(prefix)) return bad("incorrect start key");
  return result;
}

Revision number(std::string_view text) {
  Revision value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Each key that has changed since, as it was at `revision`; null where it did not exist.
using Undo = std::map<std::string, store::ItemPtr, std::less<>>;

Result<Undo> undo_since(const store::Store& store, store::BucketId bucket, Revision revision,
                        Revision current) {
  Undo undo;
  std::vector<store::Change> changes =
      TRY(store.changes_after(bucket, revision, std::numeric_limits<std::size_t>::max()));
  for (const store::Change& change : changes)
    if (change.revision <= current) undo.emplace(change.item->key, change.previous);
  return undo;
}

// Keys in order as they were: the present ones, corrected by `undo`.
template <class Visit>
void scan_at(const store::Snapshot& snapshot, store::BucketId bucket, const std::string& prefix,
             const std::string& from, const Undo& undo, Visit visit) {
  auto past = undo.lower_bound(std::max(prefix, from));
  bool more = true;
  auto emit_past_before = [&](const std::string* key) {
    for (; more && past != undo.end() && (!key || past->first < *key); ++past) {
      if (!past->first.starts_with(prefix)) {
        past = undo.end();
        return;
      }
      if (past->second) more = visit(past->second);
    }
  };
  snapshot.scan(bucket, prefix, from, [&](const store::ItemPtr& item) {
    emit_past_before(&item->key);
    if (!more) return false;
    if (past != undo.end() && past->first == item->key) {
      if (past->second) more = visit(past->second);
      ++past;
    } else {
      more = visit(item);
    }
    return more;
  });
  if (more) emit_past_before(nullptr);
}

// The revision a list must show: exactly (`exact`), or merely no older.
struct Wanted {
  Revision revision = 0;
  bool exact = false;
};

Wanted wanted_revision(const ListOptions& options) {
  if (options.resource_version.empty() || options.resource_version == "0") return {};
  const bool exact = options.match == VersionMatch::exact ||
                     (options.match == VersionMatch::unset && options.limit > 0);
  return {number(options.resource_version), exact};
}

}  // namespace

Error too_large_error(Revision wanted, Revision current) {
  Error error{Code::timeout, "Timeout: Too large resource version: " + std::to_string(wanted) +
                                 ", current: " + std::to_string(current)};
  error.details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  error.details.retry_after_seconds = 1;
  return error;
}

Result<store::ItemPtr> get_object(const store::Store& store, const ServedKind& served,
                                  const kube::Key& key, std::string_view resource_version) {
  const store::Snapshot snapshot = store.snapshot();
  if (Revision wanted = number(resource_version); wanted > snapshot.revision())
    return std::unexpected(too_large_error(wanted, snapshot.revision()));
  store::ItemPtr item = snapshot.get(served.bucket, storage_key(*served.kind, key));
  if (!item) return std::unexpected(not_found_error(served.kind->resource, key.name));
  return item;
}

std::vector<store::ItemPtr> scan_objects(const store::Snapshot& snapshot, const ServedKind& served,
                                         const std::string& ns, const ObjectFilter& filter) {
  std::vector<store::ItemPtr> found;
  std::string prefix = ns.empty() || !served.kind->resource.namespaced ? "" : ns + "/";
  if (std::optional<std::string> name = filter.exact_name();
      name && (!served.kind->resource.namespaced || !ns.empty())) {
    store::ItemPtr item = snapshot.get(served.bucket, prefix + *name);
    if (item && filter.matches(served, *item)) found.push_back(std::move(item));
    return found;
  }
  snapshot.scan(served.bucket, prefix, prefix, [&](const store::ItemPtr& item) {
    if (filter.matches(served, *item)) found.push_back(item);
    return true;
  });
  return found;
}

Result<ListPage> list_objects(const store::Store& store, const ServedKind& served,
                              const std::string& ns, const ListOptions& options) {
  const ObjectFilter asked =
      TRY(ObjectFilter::parse(*served.kind, options.label_selector, options.field_selector));
  const ObjectFilter filter = asked.before_conversion(*served.kind);
  const store::Snapshot snapshot = store.snapshot();
  const std::string prefix = ns.empty() || !served.kind->resource.namespaced ? "" : ns + "/";

  Wanted wanted = wanted_revision(options);
  std::string from = prefix;
  if (!options.continue_token.empty()) {
    if (!options.resource_version.empty() && options.resource_version != "0")
      return fail(Code::bad_request,
                  "specifying resource version is not allowed when using continue");
    Token token = TRY(decode_token(options.continue_token, prefix));
    from = std::move(token.start);
    if (token.revision > 0) wanted = {static_cast<Revision>(token.revision), true};
  }
  if (wanted.revision > snapshot.revision())
    return std::unexpected(too_large_error(wanted.revision, snapshot.revision()));

  ListPage page;
  page.revision = wanted.exact ? wanted.revision : snapshot.revision();
  Undo undo;
  if (page.revision < snapshot.revision()) {
    Result<Undo> past = undo_since(store, served.bucket, page.revision, snapshot.revision());
    if (!past) {
      Error expired{Code::expired,
                    "The provided continue parameter is too old to display a consistent "
                    "list result. You can start a new list without the continue "
                    "parameter, or use the continue token in this response to retrieve "
                    "the remainder of the results."};
      if (options.continue_token.empty())
        expired.message = "The resourceVersion for the provided list is too old.";
      return std::unexpected(std::move(expired));
    }
    undo = std::move(*past);
  }
  if (page.revision == snapshot.revision() && options.limit == 0 && from == prefix) {
    page.items = scan_objects(snapshot, served, ns, filter);
    return page;
  }
  const auto limit = static_cast<std::size_t>(options.limit);
  std::int64_t remaining = 0;
  scan_at(snapshot, served.bucket, prefix, from, undo, [&](const store::ItemPtr& item) {
    if (!filter.matches(served, *item)) return true;
    if (limit == 0 || page.items.size() < limit) {
      page.items.push_back(item);
      return true;
    }
    ++remaining;
    return asked.everything();
  });
  if (remaining > 0) {
    page.continue_token = encode_token(static_cast<std::int64_t>(page.revision),
                                       page.items.back()->key + std::string(1, '\0'));
    if (asked.everything()) page.remaining = remaining;
  }
  return page;
}

std::string inconsistent_token(const std::string& expired) {
  Result<Token> token = decode_token(expired, "");
  return token ? encode_token(-1, token->start) : "";
}

}  // namespace hekla::apiserver
