// The file system of a database: it keeps files that RocksDB would delete, and reads
// logs.
#ifndef SMOLWC_FILES_H
#define SMOLWC_FILES_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A file system between RocksDB and the disk, or a file system in memory.
typedef struct smolwc_files smolwc_files;

// Returns whether this thread must not read the block that it is about to read.
typedef bool smolwc_refused(void);

// Makes a file system for a database that is opened with these options. Blocks of
// tables that refused refuses are not read; NULL refuses nothing. Free the file system
// after the database and the options.
smolwc_files* smolwc_files_new(rocksdb_options_t* options, uint8_t in_memory, smolwc_refused* refused);
void smolwc_files_free(smolwc_files* files);

// From now on no file is made, opened or removed in dir unless dir is the directory of
// this device and inode.
void smolwc_files_guard(smolwc_files* files, const char* dir, uint64_t device, uint64_t inode);

// While logs are kept, a log that RocksDB deletes is moved to the directory archive
// beside it, which must exist.
void smolwc_files_keep(smolwc_files* files, uint8_t keep);
uint8_t smolwc_files_keeps(const smolwc_files* files);
// While options are held, RocksDB cannot write the file of options that it writes after
// each change of families, and continues without it.
void smolwc_files_hold_options(smolwc_files* files, uint8_t hold);

// The next three functions are for a database on the disk, before it is opened.

// Sets the database's directory and the text of its file SYNCED, empty if there is no
// file. From then on the file is kept up to date.
void smolwc_files_begin(smolwc_files* files, const char* dir, const char* synced, size_t n);
// Sets the number of bytes of a log or a manifest that are on the disk, according to
// SYNCED.
void smolwc_files_claim(smolwc_files* files, const char* name, uint64_t bytes);
// Makes a file end at a size, after which a loss of power left bytes unwritten.
void smolwc_files_end(smolwc_files* files, const char* name, uint64_t size);

// While tables are spared, a table that RocksDB deletes is moved to the directory
// strays. Returns the number of tables moved so far.
uint64_t smolwc_files_spare(smolwc_files* files, uint8_t spare);
// The number of logs that RocksDB began.
uint64_t smolwc_files_begun(const smolwc_files* files);

// Returns the error after which the database must be opened again, to be freed with
// free; NULL without such an error.
char* smolwc_files_lasting(smolwc_files* files);

// Says that the database is open, and whether each write is synced. From then on RocksDB
// begins a log in any case. If the log cannot be created, each write tries it again.
void smolwc_files_opened(smolwc_files* files, uint8_t synced);
// Makes the newest log take writes: makes RocksDB begin another one if it failed, and
// creates its file if it could not be created before. Returns the error, to be freed with
// free, or NULL.
char* smolwc_files_ready_log(smolwc_files* files, rocksdb_t* db);

// Returns the error from which RocksDB is trying to recover, to be freed with free, or
// NULL.
char* smolwc_files_recovering(smolwc_files* files);

// Begins a change, of this thread, that RocksDB writes to its manifest. Returns why the
// change cannot be made now, to be freed with free, or NULL.
char* smolwc_files_begin_change(smolwc_files* files);
void smolwc_files_end_change(smolwc_files* files);
// Whether a write to the manifest failed and no new manifest replaced it since.
uint8_t smolwc_files_in_doubt(const smolwc_files* files);
// Ends one rocksdb_disable_file_deletions.
void smolwc_enable_deletions(rocksdb_t* db);
// Waits, up to 10 seconds, until RocksDB no longer tries to recover from an error. From
// then on no error makes it try: closing a database meanwhile would never end. Background work must be
// cancelled before.
void smolwc_files_end_recovery(smolwc_files* files);

// The functions below return an error, to be freed with free, or NULL.

// *names are the names in a directory, each after a newline, to be freed with free.
// *exists is 0 if there is no such directory.
char* smolwc_files_list(smolwc_files* files, const char* dir, char** names, uint8_t* exists);
char* smolwc_files_make_dir(smolwc_files* files, const char* dir);
char* smolwc_files_remove_dir(smolwc_files* files, const char* dir);
// Reads up to n bytes. *got is the number of bytes read, -1 when there is no such file.
char* smolwc_files_read(smolwc_files* files, const char* path, uint64_t at, char* to, size_t n,
                        int64_t* got);
// The time of a file's last write, in seconds since 1970.
char* smolwc_files_modified(smolwc_files* files, const char* path, uint64_t* time);
char* smolwc_files_remove(smolwc_files* files, const char* path);

#ifdef __cplusplus
}
#endif

#endif
