#define _GNU_SOURCE
#include "kept.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
  SETS = 16,
  WAYS = 8,  // this many reads at a time find a cursor in one set
  CACHE_LINE = 64
};

// A set holds cursors that last read in the same files. Each processor begins with a place
// of its own: the memory of a cursor that it used before is still in its cache.
typedef struct {
  _Alignas(CACHE_LINE) _Atomic(smolwc_cursor*) cursors[WAYS];
} set;

struct smolwc_kept {
  set sets[SETS];
};

smolwc_kept* smolwc_kept_new(void) {
  smolwc_kept* k = aligned_alloc(CACHE_LINE, sizeof *k);
  if (k == NULL) return NULL;
  for (int i = 0; i < SETS; i++)
    for (int j = 0; j < WAYS; j++) atomic_init(&k->sets[i].cursors[j], NULL);
  return k;
}

void smolwc_kept_free(smolwc_kept* k) {
  smolwc_kept_clear(k);
  free(k);
}

// The place that the calling thread looks at as its n-th one.
static _Atomic(smolwc_cursor*)* place(set* s, unsigned own, unsigned n) {
  return &s->cursors[(own + n) % WAYS];
}

static smolwc_cursor* take(set* s) {
  unsigned own = (unsigned)sched_getcpu();
  for (unsigned n = 0; n < WAYS; n++) {
    _Atomic(smolwc_cursor*)* p = place(s, own, n);
    if (atomic_load_explicit(p, memory_order_relaxed) == NULL) continue;
    smolwc_cursor* c = atomic_exchange_explicit(p, NULL, memory_order_acquire);
    if (c != NULL) return c;
  }
  return NULL;
}

// Looks at each place once: busy reads may put cursors back as fast as they are freed.
void smolwc_kept_clear(smolwc_kept* k) {
  if (k == NULL) return;
  for (int i = 0; i < SETS; i++) {
    for (int j = 0; j < WAYS; j++) {
      smolwc_cursor* c = atomic_exchange(&k->sets[i].cursors[j], NULL);
      if (c != NULL) smolwc_cursor_free(c);
    }
  }
}

smolwc_cursor* smolwc_kept_take(smolwc_kept* k, size_t files) {
  return k == NULL ? NULL : take(&k->sets[files % SETS]);
}

void smolwc_kept_put(smolwc_kept* k, size_t files, smolwc_cursor* c) {
  if (k == NULL) { // smolwc_kept_new failed
    smolwc_cursor_free(c);
    return;
  }
  set* s = &k->sets[files % SETS];
  unsigned own = (unsigned)sched_getcpu();
  for (unsigned n = 0; n < WAYS; n++) {
    smolwc_cursor* none = NULL;
    if (atomic_compare_exchange_strong_explicit(place(s, own, n), &none, c, memory_order_release,
                                                memory_order_relaxed))
      return;
  }
  smolwc_cursor_free(c);
}
