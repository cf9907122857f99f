package catalog

import (
	"context"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// The entries of the catalog, which docs/format.md describes. Each prefix stands
// before a name.
const (
	KeyFormat = "smolwc/format" // the format in decimal
	KeyUUID   = "smolwc/uuid"   // the database's identity as text
	KeyClock  = "smolwc/clock"  // timestamps below it may have been given out

	// KeyAltering is there while a process changes the schema of a store that several
	// processes write: the mark of this process, a space and a number that grows while
	// it lives.
	KeyAltering = "smolwc/altering"

	KeyBackup = "backup/target" // the target of the last backup, as text
	KeyCopy   = "copy/source"   // of an unfinished copy: which database it is of

	PrefixTable    = "table/"    // of a table: its schema
	PrefixDeclared = "declared/" // of a table: as it was last declared
	PrefixDrop     = "drop/"     // of a family in the store: it is being dropped
	PrefixDeleted  = "deleted/"  // of a table, a slash and a time: a deleted table that is kept

	PrefixNote      = "note/"      // bytes that a layer above keeps
	PrefixTableNote = "tablenote/" // of a table: bytes that a layer above keeps

	prefixStream = "stream/" // of a table: its change stream's number and beginning, in decimal
	prefixLoad   = "load/"   // of a table, a slash and a bulk load's name: its record
	prefixStore  = "store/"  // of a table: the name that its families have in the store instead
)

// LoadKey is the key of the record of a table's bulk load.
func LoadKey(table, name string) string { return prefixLoad + table + "/" + name }

// StoreName is the name of a table's family in the store.
func StoreName(table, family string) string { return table + "/" + family }

// Entries are the entries of a store's catalog whose keys start with prefix.
func Entries(ctx context.Context, store cf.Reader, prefix string) (map[string][]byte, error) {
	snap, err := store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	return snap.MetaPrefix(ctx, prefix)
}

// Portable reports whether a copy of the database keeps an entry as it is, and the name of
// its table; "" is an entry of the database as a whole.
func Portable(key string) (table string, ok bool) {
	if strings.HasPrefix(key, PrefixNote) {
		return "", true
	}
	for _, prefix := range []string{PrefixTableNote, PrefixDeclared, prefixLoad} {
		if rest, found := strings.CutPrefix(key, prefix); found {
			table, _, _ = strings.Cut(rest, "/")
			return table, true
		}
	}
	return "", false
}
