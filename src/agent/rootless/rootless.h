// Hekla as an ordinary user: root in a user namespace that knows one user and one group, the user's
// own. What the rest of the agent does differently there asks these few questions; everything else
// is as for root.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "agent/runtime/bundle.h"
#include "json/value.h"

namespace hekla::agent {

// Whether this process is root in a namespace of one user. Reads the kernel's table once.
bool is_rootless();
// Pure: the text of /proc/self/uid_map.
bool maps_one_user(std::string_view uid_map);

// overlayfs keeps its marks where its mounter may write them.
const char* opaque_attribute();
// To be appended to the options of an overlay.
const char* overlay_options();

// Of the ordinary user whose pods run as himself: his files are nothing for them, wherever he
// lives. Empty for root.
std::string rootless_home();

// fchownat, but without effect where there is one owner only. 0 or -1 with errno.
int change_owner(int directory, const char* path, uid_t uid, gid_t gid, int flags = 0);

// Takes from a config.json what one user without control groups cannot have. `mountinfo`: a root
// that is to be read-only has to be so in each of its mounts.
void adapt_to_one_user(json::Value& config, std::string_view mountinfo);
// Why a container with this identity cannot be run; nothing when it can, or when we are root.
std::optional<std::string> missing_user(const Security& security, bool rootless = is_rootless());

// What pods do not have, in one line for whoever starts the platform.
// `closed`: why they do not reach the outside, or empty.
std::string rootless_notice(uid_t user, const std::string& closed);

}  // namespace hekla::agent
