package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/schema"
)

// A Note keeps the parts of a client's table that the database's schema cannot hold: the
// splits that the table was created with, its granularity, protection from deletion, the
// types of its families as the client gave them, its authorized views, its schema bundles,
// its locality groups, and the time of its last automated backup. The database keeps it
// beside the table as a CreateTableRequest, with the last four in fields that Bigtable's
// message does not have. There is no note for a table not created through an API. Notes in
// the catalog are not changed.
type Note struct {
	Table   *adminpb.Table
	Splits  []string
	Views   map[string]*View   // by their ids
	Bundles map[string]*Bundle // by their ids
	Groups  [][]string         // the locality groups of the JSON API: names of families
	// BackedUp is when the last automated backup began, in microseconds since 1970; 0: never.
	BackedUp int64
}

// viewField holds an AuthorizedView and bundleField a SchemaBundle; their names are the
// ids alone. groupField holds the names of the families of a locality group, with commas
// between them. backedUpField is BackedUp.
const (
	viewField     protowire.Number = 64101
	bundleField   protowire.Number = 64102
	groupField    protowire.Number = 64111
	backedUpField protowire.Number = 64112
)

// emptyNote is returned in place of a missing note.
var emptyNote = &Note{Table: &adminpb.Table{}}

// ReadNote reads the note of a table as the database keeps it.
func ReadNote(stored string, b []byte) (*Note, error) {
	r := new(adminpb.CreateTableRequest)
	if err := proto.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("the note of table %s is damaged: %w", stored, err)
	}
	n := &Note{Table: r.GetTable()}
	if n.Table == nil {
		n.Table = &adminpb.Table{}
	}
	for _, split := range r.GetInitialSplits() {
		n.Splits = append(n.Splits, string(split.GetKey()))
	}
	return n, n.readOwn(stored, r.ProtoReflect().GetUnknown())
}

// readOwn reads the fields that Bigtable's message does not have.
func (n *Note) readOwn(stored string, fields []byte) (err error) {
	wire.EachField(fields, func(f wire.Field) bool {
		switch f.Number {
		case viewField:
			m := new(adminpb.AuthorizedView)
			if err = proto.Unmarshal(f.Content, m); err != nil {
				err = fmt.Errorf("an authorized view in the note of table %s is damaged: %w", stored, err)
				return false
			}
			n.setView(NewView(m))
		case bundleField:
			m := new(adminpb.SchemaBundle)
			if err = proto.Unmarshal(f.Content, m); err != nil {
				err = fmt.Errorf("a schema bundle in the note of table %s is damaged: %w", stored, err)
				return false
			}
			n.setBundle(NewBundle(m))
		case groupField:
			n.Groups = append(n.Groups, strings.Split(string(f.Content), ","))
		case backedUpField:
			n.BackedUp = int64(f.Varint)
		}
		return true
	})
	return err
}

func (n *Note) setView(v *View) {
	if n.Views == nil {
		n.Views = map[string]*View{}
	}
	n.Views[v.Message.GetName()] = v
}

// WithView is a copy of the note in which a view is added, replaced or, if v is nil,
// removed.
func (n *Note) WithView(id string, v *View) *Note {
	c := n.Clone()
	if v == nil {
		delete(c.Views, id)
	} else {
		c.setView(v)
	}
	return c
}

// Marshal is the note as the database keeps it.
func (n *Note) Marshal() ([]byte, error) {
	r := &adminpb.CreateTableRequest{Table: n.Table}
	for _, key := range n.Splits {
		r.InitialSplits = append(r.InitialSplits, &adminpb.CreateTableRequest_Split{Key: []byte(key)})
	}
	var own []byte
	add := func(field protowire.Number, m proto.Message) error {
		b, err := proto.Marshal(m)
		own = protowire.AppendBytes(protowire.AppendTag(own, field, protowire.BytesType), b)
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(n.Views)) {
		if err := add(viewField, n.Views[id].Message); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(n.Bundles)) {
		if err := add(bundleField, n.Bundles[id].Message); err != nil {
			return nil, err
		}
	}
	for _, families := range n.Groups {
		own = protowire.AppendString(protowire.AppendTag(own, groupField, protowire.BytesType), strings.Join(families, ","))
	}
	if n.BackedUp != 0 {
		own = protowire.AppendVarint(protowire.AppendTag(own, backedUpField, protowire.VarintType), uint64(n.BackedUp))
	}
	r.ProtoReflect().SetUnknown(own)
	return proto.Marshal(r)
}

// NewNote is the part of a request for a new table that the schema cannot hold.
func NewNote(req *adminpb.CreateTableRequest, families []schema.Family) (*Note, error) {
	given := req.GetTable()
	note := &Note{Table: &adminpb.Table{
		Granularity:           given.GetGranularity(),
		DeletionProtection:    given.GetDeletionProtection(),
		AutomatedBackupConfig: given.GetAutomatedBackupConfig(),
		RowKeySchema:          given.GetRowKeySchema(),
		TieredStorageConfig:   given.GetTieredStorageConfig(),
		ColumnFamilies:        map[string]*adminpb.ColumnFamily{},
	}}
	switch note.Table.Granularity {
	case adminpb.Table_TIMESTAMP_GRANULARITY_UNSPECIFIED:
		note.Table.Granularity = adminpb.Table_MILLIS
	case adminpb.Table_MILLIS, adminpb.Table_MICROS:
	default:
		return nil, wire.Invalid("unknown timestamp granularity %v", note.Table.Granularity)
	}
	for name, f := range given.GetColumnFamilies() {
		note.SetType(name, f.GetValueType())
	}
	for _, split := range req.GetInitialSplits() {
		if err := CheckRowKey(split.GetKey()); err != nil {
			return nil, wire.Invalid("initial split: %s", wire.StatusText(err))
		}
		note.Splits = append(note.Splits, string(split.GetKey()))
	}
	slices.Sort(note.Splits)
	note.Splits = slices.Compact(note.Splits)
	if err := cmp.Or(checkPolicy(given.GetAutomatedBackupPolicy()), checkTiers(given.GetTieredStorageConfig())); err != nil {
		return nil, err
	}
	return note, checkRowKeySchema(given.GetRowKeySchema(), families)
}

// SetType remembers the type of a family as it was given; nil forgets it.
func (n *Note) SetType(family string, t *adminpb.Type) {
	if t == nil {
		delete(n.Table.ColumnFamilies, family)
		return
	}
	if n.Table.ColumnFamilies == nil {
		n.Table.ColumnFamilies = map[string]*adminpb.ColumnFamily{}
	}
	n.Table.ColumnFamilies[family] = &adminpb.ColumnFamily{ValueType: wire.CompleteType(wire.InexactType(t))}
}

// Clone copies a note, so that the copy can be changed.
func (n *Note) Clone() *Note {
	return &Note{proto.Clone(n.Table).(*adminpb.Table), n.Splits, maps.Clone(n.Views), maps.Clone(n.Bundles), slices.Clone(n.Groups), n.BackedUp}
}

// Update copies the field that a path of a mask names.
func (n *Note) Update(path string, from *adminpb.Table, families []schema.Family) error {
	field, inner, _ := strings.Cut(path, ".")
	switch field {
	case "deletion_protection":
		n.Table.DeletionProtection = from.GetDeletionProtection()
	case "automated_backup_policy":
		return n.setPolicy(inner, from)
	case "row_key_schema":
		return n.setRowKeySchema(from.GetRowKeySchema(), families)
	case "tiered_storage_config":
		if err := checkTiers(from.GetTieredStorageConfig()); err != nil {
			return err
		}
		n.Table.TieredStorageConfig = from.GetTieredStorageConfig()
	default:
		return wire.Invalid("incorrect path in UpdateMask; %q cannot be updated", path)
	}
	return nil
}
