#include "kept.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
  PLACES = 16,  // as many reads at once find a cursor
  CACHE_LINE = 64
};

// A place holds one cursor or none. Threads begin to look at different ones.
typedef struct {
  _Alignas(CACHE_LINE) _Atomic(smolwc_cursor*) cursor;
} place;

struct smolwc_kept {
  place places[PLACES];
};

smolwc_kept* smolwc_kept_new(void) {
  smolwc_kept* k = aligned_alloc(CACHE_LINE, sizeof *k);
  if (k == NULL) return NULL;
  for (int i = 0; i < PLACES; i++) atomic_init(&k->places[i].cursor, NULL);
  return k;
}

void smolwc_kept_free(smolwc_kept* k) {
  smolwc_kept_clear(k);
  free(k);
}

void smolwc_kept_clear(smolwc_kept* k) {
  for (int i = 0; i < PLACES; i++) {
    smolwc_cursor* c = atomic_exchange(&k->places[i].cursor, NULL);
    if (c != NULL) smolwc_cursor_free(c);
  }
}

// The place at which the thread begins to look.
static unsigned home(void) {
  static atomic_uint threads;
  static _Thread_local unsigned mine;
  if (mine == 0) mine = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % PLACES;
  return mine - 1;
}

smolwc_cursor* smolwc_kept_take(smolwc_kept* k) {
  for (unsigned i = 0, first = home(); i < PLACES; i++) {
    place* p = &k->places[(first + i) % PLACES];
    if (atomic_load_explicit(&p->cursor, memory_order_relaxed) == NULL) continue;
    smolwc_cursor* c = atomic_exchange_explicit(&p->cursor, NULL, memory_order_acquire);
    if (c != NULL) return c;
  }
  return NULL;
}

void smolwc_kept_put(smolwc_kept* k, smolwc_cursor* c) {
  for (unsigned i = 0, first = home(); i < PLACES; i++) {
    place* p = &k->places[(first + i) % PLACES];
    smolwc_cursor* none = NULL;
    if (atomic_compare_exchange_strong_explicit(&p->cursor, &none, c, memory_order_release,
                                                memory_order_relaxed))
      return;
  }
  smolwc_cursor_free(c);
}
