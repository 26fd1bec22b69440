#include "main/allocator.h"

#ifdef HEKLA_MIMALLOC
#include <mimalloc.h>
#endif

namespace hekla {

void set_up_allocator() {
#ifdef HEKLA_MIMALLOC
  // mimalloc gives free pages back after 25 ms. In a burst of writes they are wanted again a moment
  // later, and every return interrupts all cores: of the 133,000 page faults of 10,000 pods, a
  // sixth was for pages just given back.
  constexpr long kGiveBackAfterMs = 1000;
  mi_option_set(mi_option_decommit_delay, kGiveBackAfterMs);
#endif
}

}  // namespace hekla
