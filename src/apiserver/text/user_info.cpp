#include "apiserver/text/user_info.h"

namespace hekla::apiserver {

json::Value user_value(const kube::UserInfo& user) {
  json::Array groups;
  for (const std::string& group : user.groups) groups.emplace_back(group);
  json::Object out{{"username", user.name}};
  if (!user.uid.empty()) out.emplace("uid", user.uid);
  out.emplace("groups", std::move(groups));
  if (user.extra.empty()) return out;
  json::Object extra;
  for (const auto& [key, values] : user.extra) {
    json::Array list;
    for (const std::string& value : values) list.emplace_back(value);
    extra.emplace(key, std::move(list));
  }
  out.emplace("extra", std::move(extra));
  return out;
}

}  // namespace hekla::apiserver
