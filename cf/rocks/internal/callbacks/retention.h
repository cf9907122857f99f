// Dropping expired cells in compactions.
#ifndef SMOLWC_RETENTION_H
#define SMOLWC_RETENTION_H

#include <rocksdb/c.h>
#include <stdint.h>

// The bound of a family's expired cells. It may be set while compactions read it.
typedef struct smolwc_expiry smolwc_expiry;

// A new expiry drops nothing. Returns NULL when memory is out.
smolwc_expiry* smolwc_expiry_new(void);

// Ends the caller's use. The memory is freed when no options have the expiry.
void smolwc_expiry_free(smolwc_expiry* e);

// From the next compaction on, cells with timestamps less than before are
// dropped.
void smolwc_expiry_set(smolwc_expiry* e, int64_t before);

// Sets the compaction filter in the options. No other family may use these options.
void smolwc_expiry_attach(smolwc_expiry* e, rocksdb_options_t* options);

#endif
