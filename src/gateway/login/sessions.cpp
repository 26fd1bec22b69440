#include "gateway/login/sessions.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/crypto.h"

namespace hekla::gateway {
namespace {

constexpr Nanos kUseIsWritten = std::chrono::minutes(10);

std::int64_t seconds_of(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}
WallTime time_of(std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); }

}  // namespace

std::string random_secret(Rng& rng) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) append_le(bytes, rng.next());
  return base64url_encode(bytes);
}

std::string csrf_token(std::string_view secret) {
  return base64url_encode(sha256("csrf:" + std::string(secret)));
}

std::string content_pass(std::string_view secret) {
  return sha256_hex(secret) + "." + base64url_encode(sha256("content:" + std::string(secret)));
}

bool Sessions::is_over(const Session& session, WallTime now) const {
  return now >= session.created + options_.absolute || now >= session.used + options_.idle;
}

void Sessions::on_change(std::function<void(std::vector<std::string>)> changed) {
  std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
}

void Sessions::tell(std::vector<std::string> ended) {
  std::function<void(std::vector<std::string>)> changed;
  {
    std::lock_guard lock(mutex_);
    changed = changed_;
  }
  if (changed) changed(std::move(ended));
}

std::string Sessions::begin(kube::User user, std::string connector) {
  const std::string secret = random_secret(rng_);
  std::vector<std::string> ended;
  {
    std::lock_guard lock(mutex_);
    const WallTime now = clock_.wall();
    auto end_oldest = [&](const std::string* of) {
      auto oldest = sessions_.end();
      for (auto at = sessions_.begin(); at != sessions_.end(); ++at)
        if ((!of || at->second.user.name == *of) &&
            (oldest == sessions_.end() || at->second.used < oldest->second.used))
          oldest = at;
      if (oldest == sessions_.end()) return;
      ended.push_back(oldest->first);
      sessions_.erase(oldest);
    };
    std::erase_if(sessions_, [&](const auto& one) { return is_over(one.second, now); });
    const auto mine = std::ranges::count_if(
        sessions_, [&](const auto& one) { return one.second.user.name == user.name; });
    if (static_cast<std::size_t>(mine) >= options_.per_user_max) end_oldest(&user.name);
    if (sessions_.size() >= options_.sessions_max) end_oldest(nullptr);
    sessions_[sha256_hex(secret)] =
        Session{std::move(user), std::move(connector), now, now, sha256_hex(content_pass(secret))};
  }
  tell(std::move(ended));
  return secret;
}

std::optional<Sessions::Found> Sessions::find(std::string_view secret) {
  if (secret.size() < 40 || secret.size() > 64) return std::nullopt;
  return find_id(sha256_hex(secret), nullptr);
}

std::optional<Sessions::Found> Sessions::find_content(std::string_view pass) {
  constexpr std::size_t kIdLength = 64;
  if (pass.size() < kIdLength + 40 || pass.size() > 2 * kIdLength || pass[kIdLength] != '.')
    return std::nullopt;
  const std::string digest = sha256_hex(pass);
  return find_id(std::string(pass.substr(0, kIdLength)), &digest);
}

std::optional<Sessions::Found> Sessions::find_id(const std::string& id,
                                                 const std::string* content_digest) {
  bool write = false;
  std::optional<Found> found;
  {
    std::lock_guard lock(mutex_);
    const auto at = sessions_.find(id);
    if (at == sessions_.end()) return std::nullopt;
    if (content_digest && at->second.content != *content_digest) return std::nullopt;
    const WallTime now = clock_.wall();
    if (is_over(at->second, now)) {
      sessions_.erase(at);
    } else {
      write = now - at->second.used > kUseIsWritten;
      if (write) at->second.used = now;
      found = Found{at->second, id, at->second.created + options_.absolute};
    }
  }
  if (!found) tell({id});
  if (write) tell({});
  return found;
}

void Sessions::end(std::string_view secret) {
  const std::string id = sha256_hex(secret);
  {
    std::lock_guard lock(mutex_);
    if (sessions_.erase(id) == 0) return;
  }
  tell({id});
}

bool Sessions::end_of_user(const std::string& user, const std::string& id) {
  {
    std::lock_guard lock(mutex_);
    const auto at = sessions_.find(id);
    if (at == sessions_.end() || at->second.user.name != user) return false;
    sessions_.erase(at);
  }
  tell({id});
  return true;
}

void Sessions::end_where(const std::function<bool(const Session&)>& ends) {
  std::vector<std::string> ended;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, session] : sessions_)
      if (ends(session)) ended.push_back(id);
    for (const std::string& id : ended) sessions_.erase(id);
  }
  if (!ended.empty()) tell(std::move(ended));
}

std::vector<Sessions::Found> Sessions::of_user(const std::string& user) const {
  std::lock_guard lock(mutex_);
  std::vector<Found> found;
  for (const auto& [id, session] : sessions_)
    if (session.user.name == user)
      found.push_back({session, id, session.created + options_.absolute});
  return found;
}

json::Value Sessions::dump() const {
  std::lock_guard lock(mutex_);
  json::Array all;
  for (const auto& [id, session] : sessions_) {
    json::Array groups;
    for (const std::string& group : session.user.groups) groups.emplace_back(group);
    all.push_back(json::Object{{"id", id},
                               {"user", session.user.name},
                               {"uid", session.user.uid},
                               {"groups", std::move(groups)},
                               {"connector", session.connector},
                               {"created", seconds_of(session.created)},
                               {"used", seconds_of(session.used)},
                               {"content", session.content}});
  }
  return json::Object{{"sessions", std::move(all)}};
}

void Sessions::load(const json::Value& dumped) {
  std::lock_guard lock(mutex_);
  const json::Array* all = json::array_at(dumped, {"sessions"});
  for (std::size_t i = 0; all && i < all->size() && i < options_.sessions_max; ++i) {
    const json::Value& one = (*all)[i];
    Session session;
    session.user.name = json::text_at(one, {"user"});
    session.user.uid = json::text_at(one, {"uid"});
    session.user.proof = kube::Proof::session;
    if (const json::Array* groups = json::array_at(one, {"groups"}))
      for (const json::Value& group : *groups)
        if (group.is_string()) session.user.groups.emplace_back(json::sv(group.as_string()));
    session.connector = json::text_at(one, {"connector"});
    session.created = time_of(json::int_at(one, {"created"}));
    session.used = time_of(json::int_at(one, {"used"}));
    session.content = json::text_at(one, {"content"});
    const std::string id = json::text_at(one, {"id"});
    if (id.size() == 64 && !session.user.name.empty() && !is_over(session, clock_.wall()))
      sessions_.try_emplace(id, std::move(session));
  }
}

}  // namespace hekla::gateway
