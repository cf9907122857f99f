// Package cftikv is the [cf.Store] on TiKV: families, rows and cells in the transactional
// keys of a TiKV cluster, through client-go. Any number of processes may open the same
// store at the same time.
//
// All keys of a store begin with smolwc/NAME/, then come:
//
//	mv               the version of the descriptors, and the next number of a family;
//	                 the version of the catalog; where the log of changes begins
//	mf NAME          the descriptor of a family: its numbers, its epoch, its drops, its
//	                 layers
//	mg NUMBER        cells that nobody reads: of a family that was dropped, or of a load
//	                 that was not committed
//	ml JOB           the lease of a job that one process at a time does
//	mx NUMBER        when a family's expired cells were last deleted
//	mc KEY           an entry of the catalog
//	d NUMBER KEY     a cell, by its key of package cf; the number has four bytes
//	c SHARD START PARTS PART  a part of an entry in the log of changes
//	l SPACE ROW      the sentinel of a row, which every write of the row puts
//
// # Writes
//
// A cell's key includes its timestamp, so two writes of a row seldom share a key, and TiKV
// would see no conflict between them. Therefore each write of a row also puts the row's
// sentinel. Update locks the sentinels of its rows before it reads.
//
// A sentinel holds the last timestamp that its row was given. The commit that puts it is
// not made before that time. So a write that begins later gives the row a greater timestamp
// without a look at the sentinel, and one that began earlier conflicts. The janitor deletes
// the sentinels of commits before the safepoint: no transaction that can still commit began
// before them.
//
// # Reads
//
// A read of a snapshot takes a timestamp from PD. A read of one row takes no timestamp: one
// request gives the row as its region holds it at that moment. Then it asks for the version of
// the families. If this is the one with which the cells were read, it was so at the moment
// of the request too. If the row is large, or a transaction is about to commit, a snapshot
// is read.
//
// # Drops
//
// Each cell's value begins with the epoch that its family had when the cell was written.
// A drop of a range raises the epoch and adds the range to the descriptor; a read hides
// cells of the range with a lower epoch. A writer that read the old epoch must not commit
// after the drop: its cells would be lost. So each commit is checked at its own commit
// timestamp, between prewrite and commit; see attempt.commitRequest.
//
// # Loads
//
// A load writes its cells under a new number, where nobody reads them, in as many
// transactions as it takes. The number is recorded as garbage first. The commit of the load
// is one transaction for all its families, which changes only descriptors: an empty family
// takes over the number; in any other the cells become a layer over the family's own. A
// layer carries an epoch; own cells of that epoch or a later one are newer than the layer.
// Reads put both together, deletes delete from both, and Compact, which the janitor calls
// too, moves the cells of layers to the family's own. As with drops, a writer that did not
// see the load of its rows does not commit.
//
// A load says each minute that it lives. After an hour without that, the janitor removes
// it, and it can no longer be committed.
//
// # The log of changes
//
// A commit whose batch carries notes also puts an entry into the log, while that is kept.
// The key of an entry begins with the start of its attempt, which is known beforehand. Its
// position is the timestamp of its commit. TiKV does not order by that, but a snapshot
// shows exactly the commits up to its timestamp, and each of them began at most 10 s before
// it was made: a later commit is refused, and its attempt is done again. So a reader takes
// a snapshot, looks at the keys from 10 s before its position on, and asks for the
// timestamp of each commit that it does not know. It sees a commit as soon as that was
// made, and no commit comes late. Eight shards of keys keep the writers from meeting in one
// region.
//
// # Old versions
//
// TiKV keeps the versions of keys that snapshots need, until its safepoint moves. One
// process at a time, the janitor, moves it: it announces a safepoint that is 20 minutes
// old, waits until all clients must have learnt of it, and then lets TiKV remove what no
// later snapshot needs. Each process protects the snapshots that it holds open for longer,
// up to a day, by a service safepoint in PD. A read at an older snapshot without protection
// fails.
package cftikv
