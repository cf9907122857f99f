// A session of a user reads the profile, counts a visit, writes a few events, reads the
// newest events of one kind, and reads some earlier sessions, which are rows of their
// own.
#include <pthread.h>
#include <string.h>

#include "yardstick.h"

typedef struct {
  rocksdb_t* db;
  family_t *profile, *stats, *event, *history;
  rocksdb_readoptions_t *row, *rows;
  rocksdb_writeoptions_t* write;
  rocksdb_writebatch_t* batch;
  slices_t columns; // of events; the last one is the counter's
  const char* value;
  size_t value_len;
  sum_t sum;
} sessions_t;

// A count is read and written: a caller with several threads locks it.
enum { stripes = 256 };
static pthread_mutex_t locks[stripes];
static pthread_once_t locks_made = PTHREAD_ONCE_INIT;

static void make_locks(void) {
  for (int i = 0; i < stripes; i++) pthread_mutex_init(&locks[i], NULL);
}

// Counts up to a number of entries from a key on, with the prefix of its row.
static void read_entries(sessions_t* s, family_t* f, const char* key, size_t len, uint64_t most,
                         const char* want, size_t want_len) {
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(s->db, s->row, f);
  rocksdb_iter_seek(it, key, len);
  for (; most > 0 && rocksdb_iter_valid(it); rocksdb_iter_next(it), most--) {
    size_t got_len;
    const char* got = rocksdb_iter_key(it, &got_len);
    if (got_len < want_len || memcmp(got, want, want_len) != 0) break;
    count_entry(&s->sum, it);
  }
  end_iterator(&s->sum, it);
  rocksdb_iter_destroy(it);
}

static size_t column_key(const sessions_t* s, char* key, const char* prefix, size_t len,
                         uint64_t column) {
  size_t column_len;
  const char* qualifier = slice_at(&s->columns, column, &column_len);
  memcpy(key, prefix, len);
  memcpy(key + len, qualifier, column_len);
  return len + column_len;
}

static void commit(sessions_t* s) {
  rocksdb_write(s->db, s->write, s->batch, &s->sum.err);
  rocksdb_writebatch_clear(s->batch);
}

static void count_visit(sessions_t* s, const char* prefix, size_t len, uint64_t now) {
  char key[512], value[9] = {6}; // of type i64
  size_t column_len = column_key(s, key, prefix, len, s->columns.n - 1);
  uint64_t visits = 0;
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(s->db, s->row, s->stats);
  rocksdb_iter_seek(it, key, column_len);
  if (rocksdb_iter_valid(it)) {
    size_t got_len, value_len;
    const char* got = rocksdb_iter_key(it, &got_len);
    const char* old = rocksdb_iter_value(it, &value_len);
    if (got_len == column_len + 9 && memcmp(got, key, column_len) == 0 && value_len == 9)
      visits = load_be64(old + 1);
  }
  end_iterator(&s->sum, it);
  rocksdb_iter_destroy(it);
  store_be64(value + 1, visits + 1);
  rocksdb_writebatch_put_cf(s->batch, s->stats, key, put_version(key, column_len, now), value,
                            sizeof value);
  commit(s);
}

static void write_events(sessions_t* s, const char* prefix, size_t len, uint64_t now) {
  char key[512];
  for (uint64_t c = 0; c + 1 < s->columns.n; c++) {
    size_t column_len = column_key(s, key, prefix, len, c);
    rocksdb_writebatch_put_cf(s->batch, s->event, key, put_version(key, column_len, now), s->value,
                              s->value_len);
  }
  commit(s);
}

// Row keys of the history are the user's key, a # and more.
static void read_history(sessions_t* s, const char* prefix, size_t len, uint64_t rows) {
  char from[512], to[512], last[512];
  size_t last_len = 0;
  memcpy(from, prefix, len - 1);
  memcpy(to, prefix, len - 1);
  from[len - 1] = '#';
  to[len - 1] = '#' + 1;
  rocksdb_readoptions_set_iterate_upper_bound(s->rows, to, len);
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(s->db, s->rows, s->history);
  uint64_t begun = 0;
  for (rocksdb_iter_seek(it, from, len); rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
    size_t key_len;
    const char* key = rocksdb_iter_key(it, &key_len);
    if (last_len == 0 || key_len < last_len || memcmp(key, last, last_len) != 0) {
      if (begun++ == rows) break;
      last_len = row_prefix_len(key, key_len);
      memcpy(last, key, last_len);
    }
    count_entry(&s->sum, it);
  }
  end_iterator(&s->sum, it);
  rocksdb_iter_destroy(it);
}

sum_t yardstick_sessions(rocksdb_t* db, family_t* profile, family_t* stats, family_t* event,
                         family_t* history, const uint32_t* users, uint64_t n,
                         const char* prefix_data, const uint64_t* prefixes, const char* column_data,
                         const uint64_t* columns, uint64_t events, const char* value,
                         size_t value_len, uint64_t clock, uint64_t newest, uint64_t history_rows) {
  pthread_once(&locks_made, make_locks);
  sessions_t s = {.db = db, .profile = profile, .stats = stats, .event = event, .history = history};
  s.value = value, s.value_len = value_len;
  s.columns = (slices_t){column_data, columns, events + 1};
  slices_t all = {prefix_data, prefixes, 0};
  s.row = rocksdb_readoptions_create();
  rocksdb_readoptions_set_prefix_same_as_start(s.row, 1);
  s.rows = rocksdb_readoptions_create();
  rocksdb_readoptions_set_total_order_seek(s.rows, 1);
  s.write = rocksdb_writeoptions_create();
  s.batch = rocksdb_writebatch_create();
  for (uint64_t i = 0; i < n && s.sum.err == NULL; i++) {
    size_t len;
    const char* prefix = slice_at(&all, users[i], &len);
    read_entries(&s, s.profile, prefix, len, UINT64_MAX, prefix, len);
    pthread_mutex_t* lock = &locks[users[i] % stripes];
    pthread_mutex_lock(lock);
    count_visit(&s, prefix, len, clock++);
    pthread_mutex_unlock(lock);
    if (s.sum.err != NULL) break;
    write_events(&s, prefix, len, clock++);
    char key[512];
    size_t column_len = column_key(&s, key, prefix, len, 0);
    read_entries(&s, s.event, key, column_len, newest, key, column_len);
    read_history(&s, prefix, len, history_rows);
  }
  rocksdb_writebatch_destroy(s.batch);
  rocksdb_writeoptions_destroy(s.write);
  rocksdb_readoptions_destroy(s.rows);
  rocksdb_readoptions_destroy(s.row);
  return s.sum;
}
