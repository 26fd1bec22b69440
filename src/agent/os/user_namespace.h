// Hekla as an ordinary user: root in a user namespace that knows one user and one group, the user's
// own. The rest of the agent asks these few questions where it has to do something differently
// there.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace hekla::agent {

// Whether this process is root in a namespace of one user. Reads the kernel's table once.
bool is_rootless();
// Pure: the text of /proc/self/uid_map.
bool maps_one_user(std::string_view uid_map);

// overlayfs keeps its marks where its mounter may write them.
const char* opaque_attribute();
// To be appended to the options of an overlay.
const char* overlay_options();

// The home of the ordinary user whose pods run as himself: his files are nothing for them, wherever
// he lives. Empty for root.
std::string rootless_home();

// fchownat, but without effect where there is one owner only. 0 or -1 with errno.
int change_owner(int directory, const char* path, uid_t uid, gid_t gid, int flags = 0);

}  // namespace hekla::agent
