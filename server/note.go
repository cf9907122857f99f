package server

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/schema"
)

// What clients say of a table that the database's schema has no place for is
// kept beside it, in a note: a CreateTableRequest with the splits that the table
// was created with, its granularity, protection from deletion, and the types of its
// families as they were given.
//
// A table that was not created through the API has no note.

// A tableNote is what clients said of a table. One that the catalog has is never
// changed.
type tableNote struct {
	table  *adminpb.Table
	splits []string
}

// emptyNote is that of a table that has none.
var emptyNote = &tableNote{table: &adminpb.Table{}}

// readNote reads the note of a table as the database keeps it.
func readNote(stored string, b []byte) (*tableNote, error) {
	r := new(adminpb.CreateTableRequest)
	if err := proto.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("the note of table %s is damaged: %w", stored, err)
	}
	n := &tableNote{table: r.GetTable()}
	if n.table == nil {
		n.table = &adminpb.Table{}
	}
	for _, split := range r.GetInitialSplits() {
		n.splits = append(n.splits, string(split.GetKey()))
	}
	return n, nil
}

// marshal is the note as the database keeps it.
func (n *tableNote) marshal() ([]byte, error) {
	r := &adminpb.CreateTableRequest{Table: n.table}
	for _, key := range n.splits {
		r.InitialSplits = append(r.InitialSplits, &adminpb.CreateTableRequest_Split{Key: []byte(key)})
	}
	return proto.Marshal(r)
}

// newTableNote is what a request says of a new table and the schema does not.
func newTableNote(req *adminpb.CreateTableRequest, families []schema.Family) (*tableNote, error) {
	given := req.GetTable()
	note := &tableNote{table: &adminpb.Table{
		Granularity:           given.GetGranularity(),
		DeletionProtection:    given.GetDeletionProtection(),
		AutomatedBackupConfig: given.GetAutomatedBackupConfig(),
		RowKeySchema:          given.GetRowKeySchema(),
		TieredStorageConfig:   given.GetTieredStorageConfig(),
		ColumnFamilies:        map[string]*adminpb.ColumnFamily{},
	}}
	switch note.table.Granularity {
	case adminpb.Table_TIMESTAMP_GRANULARITY_UNSPECIFIED:
		note.table.Granularity = adminpb.Table_MILLIS
	case adminpb.Table_MILLIS, adminpb.Table_MICROS:
	default:
		return nil, wire.Invalid("unknown timestamp granularity %v", note.table.Granularity)
	}
	for name, f := range given.GetColumnFamilies() {
		note.setType(name, f.GetValueType())
	}
	for _, split := range req.GetInitialSplits() {
		if err := checkRowKey(split.GetKey()); err != nil {
			return nil, wire.Invalid("initial split: %s", wire.StatusText(err))
		}
		note.splits = append(note.splits, string(split.GetKey()))
	}
	slices.Sort(note.splits)
	note.splits = slices.Compact(note.splits)
	return note, checkRowKeySchema(given.GetRowKeySchema(), families)
}

// setType remembers the type of a family as it was given; nil forgets it.
func (n *tableNote) setType(family string, t *adminpb.Type) {
	if t == nil {
		delete(n.table.ColumnFamilies, family)
		return
	}
	if n.table.ColumnFamilies == nil {
		n.table.ColumnFamilies = map[string]*adminpb.ColumnFamily{}
	}
	n.table.ColumnFamilies[family] = &adminpb.ColumnFamily{ValueType: wire.CompleteType(wire.InexactType(t))}
}

// clone copies a note, to be changed.
func (n *tableNote) clone() *tableNote {
	return &tableNote{proto.Clone(n.table).(*adminpb.Table), n.splits}
}

// update copies what a path of a mask names.
func (n *tableNote) update(path string, from *adminpb.Table, families []schema.Family) error {
	field, _, _ := strings.Cut(path, ".")
	switch field {
	case "deletion_protection":
		n.table.DeletionProtection = from.GetDeletionProtection()
	case "automated_backup_policy":
		n.table.AutomatedBackupConfig = from.GetAutomatedBackupConfig()
	case "row_key_schema":
		return n.setRowKeySchema(from.GetRowKeySchema(), families)
	case "tiered_storage_config":
		n.table.TieredStorageConfig = from.GetTieredStorageConfig()
	default:
		return wire.Invalid("incorrect path in UpdateMask; %q cannot be updated", path)
	}
	return nil
}
