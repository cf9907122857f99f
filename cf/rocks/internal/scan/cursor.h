// The hot loop of a read: a cursor over one column family. It filters cells in the
// engine's memory and fills blocks; one call from Go fills a block. docs/format.md shows
// the layout of keys. The cursor uses only functions that are in rocksdb/c.h from 7.8 to
// 11.
#ifndef SMOLWC_CURSOR_H
#define SMOLWC_CURSOR_H

#include <rocksdb/c.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"

// A cell is hidden when its rank in its column, 1 the newest, is greater than
// versions and its timestamp is not greater than up_to.
typedef struct {
  int64_t versions;
  int64_t up_to;
} smolwc_retention;

// A condition on one column of a row: its newest cell's value is in one of values_len
// ranges, or, without ranges, it is without cells.
typedef struct {
  size_t values_len;
} smolwc_condition;

// The scan of a cursor. The bounds of the intervals are passed separately: see
// smolwc_cursor_new.
typedef struct {
  size_t rows_len;       // intervals of rows, ascending and disjoint
  size_t qualifiers_len; // intervals of qualifiers, likewise; none means all
  size_t values_len;     // intervals of values, likewise; with them a returned row may have no cells
  size_t retention_len;
  size_t conditions_len; // ascending by qualifier; qualifiers may be equal
  int64_t since, until;   // [since, until); until 0 is no bound
  int64_t versions;       // per column; 0 is no limit
  int64_t cells_per_row;  // 0 is no limit
  int64_t columns_per_row;  // likewise
  int64_t limit;          // rows; 0 is no limit
  size_t fetch;           // bytes of a file to read at a time; 0 leaves it to the engine
  int64_t cells_per_call; // a call returns after about this many cells
  uint64_t sample;        // only rows with a smaller hash; 0 is all rows
  uint8_t reverse;
  uint8_t keys_only;
  uint8_t strip_values;
  uint8_t count_only;  // returns no cells: len of a row is the number of its cells
  uint8_t every_row;   // also returns rows that have a passing cell only in other columns
  uint8_t count_tombstones;
  uint8_t single_rows;  // every interval of rows starts with a row prefix and
                        // holds only that row: use the prefix bloom filter
} smolwc_scan;

// Shared with Go: cf.RowSpan and cf.CellSpan.
typedef struct {
  uint32_t key, key_len, first, len;
} smolwc_row;

typedef struct {
  int64_t timestamp;
  uint32_t offset, qualifier_len, value_len, unused;
} smolwc_cell;

// How far a block is filled. Its memory, of these sizes, is passed beside it: it may be
// Go's, and Go would look for every pointer in a struct that is passed.
typedef struct {
  size_t data_cap, data_len;
  size_t rows_cap, rows_len;
  size_t cells_cap, cells_len;
  size_t need;        // with SMOLWC_GROW: bytes of data for the next cell
  uint8_t continued;  // the first row is the last one of the block before
  uint8_t stopped;    // the engine skipped many keys: see whether the scan is still wanted
  uint8_t undecided;  // it is not known yet whether the last row is wanted: continue to fill
  uint64_t file_reads;  // how often files were read for it
  smolwc_large large;
} smolwc_block;

typedef struct {
  uint64_t seeks, rows_scanned, cells_scanned, bytes_scanned, tombstones;
  uint64_t counted;  // cells of a scan that only counts
} smolwc_cost;

typedef enum {
  SMOLWC_END = 0,      // the scan is complete; the block holds the last cells
  SMOLWC_MORE = 1,     // not done: call again with the same block
  SMOLWC_GROW = 2,     // the next cell does not fit into an empty block
  SMOLWC_CORRUPT = 3,  // a key is not a cell's; see smolwc_cursor_key
  SMOLWC_ERROR = 4,    // the engine's error; see smolwc_cursor_error
  SMOLWC_FULL = 5      // the block is full: call again with another one
} smolwc_status;

typedef struct smolwc_cursor smolwc_cursor;

// Copies its arguments. bounds holds, one after another, the start and the end of each
// interval of rows, of qualifiers and of values, and then, for each condition, the
// intervals of its qualifier and its values. An empty end of values is no bound. ends
// are the ends of these strings in bounds. snapshot may be NULL. overlay, which may be
// NULL, contains changes that are read as if they had been written; it must not change
// while the cursor is used. Returns NULL when memory is out.
smolwc_cursor* smolwc_cursor_new(rocksdb_t* db, rocksdb_column_family_handle_t* family,
                                 const rocksdb_snapshot_t* snapshot,
                                 rocksdb_writebatch_wi_t* overlay, const smolwc_scan* scan,
                                 const char* bounds, const uint32_t* ends,
                                 const smolwc_retention* retention,
                                 const smolwc_condition* conditions);
// Fills a block, whose memory belongs to the caller.
smolwc_status smolwc_cursor_fill(smolwc_cursor* c, char* data, smolwc_row* rows,
                                 smolwc_cell* cells, smolwc_block* block);
// Ends the scan at a row's bound: a forward scan then reads only rows before the bound,
// a reverse scan only rows from the bound on. The bound is copied. Returns 0 when
// memory is out.
int smolwc_cursor_cut(smolwc_cursor* c, const char* bound, size_t len);

// Ends a call that reads with an overlay, soon and with an error, if left is 1, and takes
// that back if it is 0. Another thread may call it.
void smolwc_cursor_leave(smolwc_cursor* c, int left);

// State that is shared by reads in one call.
typedef struct smolwc_reader smolwc_reader;
// Cursors of a family that such reads left. Their iterators are refreshed when they are
// used again; see kept.h.
typedef struct smolwc_kept smolwc_kept;

// Returns NULL when memory is out. The database must outlive the reader.
smolwc_reader* smolwc_reader_new(rocksdb_t* db);
void smolwc_reader_free(smolwc_reader* r);

// Fills a block with the newest state in one call. When the status is not SMOLWC_END, it
// returns a cursor to continue with, or NULL when memory is out. Many threads may use a
// reader and the kept cursors at once; for files see smolwc_kept_take.
smolwc_cursor* smolwc_read(smolwc_reader* r, rocksdb_column_family_handle_t* family,
                           smolwc_kept* kept, size_t files, const smolwc_scan* scan,
                           const char* bounds, const uint32_t* ends, const smolwc_retention* retention,
                           const smolwc_condition* conditions, char* data, smolwc_row* rows,
                           smolwc_cell* cells, smolwc_block* block, smolwc_cost* cost,
                           smolwc_status* status);
// The key at the cursor, valid until the next call.
const char* smolwc_cursor_key(smolwc_cursor* c, size_t* len);
// The index of the interval of rows that the cursor is in, or comes to next.
size_t smolwc_cursor_range(const smolwc_cursor* c);
// The engine's error, to be freed with rocksdb_free; NULL without an error.
char* smolwc_cursor_error(smolwc_cursor* c);
void smolwc_cursor_cost(const smolwc_cursor* c, smolwc_cost* cost);
void smolwc_cursor_free(smolwc_cursor* c);

// Seeks to a key. Returns the engine's error, to be freed with rocksdb_free, or NULL.
// The seek ignores range tombstones: with them RocksDB loses the error.
char* smolwc_readable(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key,
                      size_t len, smolwc_large* large);

#endif
