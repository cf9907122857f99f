//go:build cgo && linux && !norocksdb

#define _GNU_SOURCE
#include "kept.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  SETS = 16,
  FEW_WAYS = 8,  // at least this many reads at a time find a cursor in one set
  MOST_WAYS = 64,
  CACHE_LINE = 64
};

// A place for a cursor fills a cache line of its own: with eight places in one, each read
// took the line away from the reads of all other processors.
typedef struct {
  _Alignas(CACHE_LINE) _Atomic(smolwc_cursor*) cursor;
} place;

// A set holds cursors that last read in the same files. A processor looks first at its own
// place, since the cursor that it used last is still in its cache.
struct smolwc_kept {
  unsigned ways;  // places in a set, a power of two
  place places[];
};

smolwc_kept* smolwc_kept_new(void) {
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  unsigned ways = FEW_WAYS;
  while (ways < MOST_WAYS && (long)ways < processors) ways *= 2;
  smolwc_kept* k = aligned_alloc(CACHE_LINE, sizeof *k + SETS * ways * sizeof(place));
  if (k == NULL) return NULL;
  k->ways = ways;
  for (unsigned i = 0; i < SETS * ways; i++) atomic_init(&k->places[i].cursor, NULL);
  return k;
}

void smolwc_kept_free(smolwc_kept* k) {
  smolwc_kept_clear(k);
  free(k);
}

// The place in the set of files that the calling thread, on processor own, looks at as its
// n-th one.
static _Atomic(smolwc_cursor*)* place_of(smolwc_kept* k, size_t files, unsigned own, unsigned n) {
  return &k->places[files % SETS * k->ways + (own + n) % k->ways].cursor;
}

// Looks at each place once: busy reads may put cursors back as fast as they are freed.
void smolwc_kept_clear(smolwc_kept* k) {
  if (k == NULL) return;
  for (unsigned i = 0; i < SETS * k->ways; i++) {
    if (atomic_load(&k->places[i].cursor) == NULL) continue;
    smolwc_cursor* c = atomic_exchange(&k->places[i].cursor, NULL);
    if (c != NULL) smolwc_cursor_free(c);
  }
}

smolwc_cursor* smolwc_kept_take(smolwc_kept* k, size_t files) {
  if (k == NULL) return NULL;
  unsigned own = (unsigned)sched_getcpu();
  for (unsigned n = 0; n < k->ways; n++) {
    _Atomic(smolwc_cursor*)* p = place_of(k, files, own, n);
    if (atomic_load_explicit(p, memory_order_relaxed) == NULL) continue;
    smolwc_cursor* c = atomic_exchange_explicit(p, NULL, memory_order_acquire);
    if (c != NULL) return c;
  }
  return NULL;
}

void smolwc_kept_put(smolwc_kept* k, size_t files, smolwc_cursor* c) {
  if (k == NULL) { // smolwc_kept_new failed
    smolwc_cursor_free(c);
    return;
  }
  unsigned own = (unsigned)sched_getcpu();
  for (unsigned n = 0; n < k->ways; n++) {
    smolwc_cursor* none = NULL;
    if (atomic_compare_exchange_strong_explicit(place_of(k, files, own, n), &none, c, memory_order_release,
                                                memory_order_relaxed))
      return;
  }
  smolwc_cursor_free(c);
}
