package server

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What clients say of a table that the database's schema has no place for is
// kept beside it, in a note: a CreateTableRequest with the splits that the table
// was created with, its granularity, protection from deletion, and the types of its
// families as they were given.
//
// A table that was not created through the API has no note.
type notes struct {
	tables atomic.Pointer[map[string]*tableNote]
}

// A tableNote is never changed.
type tableNote struct {
	table  *adminpb.Table
	splits []string
}

// loadNotes reads what the database has.
func (s *Server) loadNotes(ctx context.Context) error {
	stored, err := s.db.TableNotes(ctx)
	if err != nil {
		return err
	}
	tables := map[string]*tableNote{}
	for name, b := range stored {
		n := new(adminpb.CreateTableRequest)
		if err := proto.Unmarshal(b, n); err != nil {
			return fmt.Errorf("the note of table %s is damaged: %w", name, err)
		}
		tables[name] = noteOf(n)
	}
	s.notes.tables.Store(&tables)
	if err := s.loadInstances(ctx); err != nil {
		return err
	}
	return s.loadBackups(ctx)
}

func noteOf(r *adminpb.CreateTableRequest) *tableNote {
	n := &tableNote{table: r.GetTable()}
	if n.table == nil {
		n.table = &adminpb.Table{}
	}
	for _, split := range r.GetInitialSplits() {
		n.splits = append(n.splits, string(split.GetKey()))
	}
	return n
}

// setTableNote keeps the note of a table that exists; s.adminMu is held.
func (s *Server) setTableNote(ctx context.Context, stored string, n *tableNote) error {
	b, err := n.marshal()
	if err != nil {
		return err
	}
	if err := s.db.SetTableNote(ctx, stored, b); err != nil {
		return err
	}
	s.notes.put(stored, n)
	return nil
}

func (n *tableNote) marshal() ([]byte, error) {
	r := &adminpb.CreateTableRequest{Table: n.table}
	for _, key := range n.splits {
		r.InitialSplits = append(r.InitialSplits, &adminpb.CreateTableRequest_Split{Key: []byte(key)})
	}
	return proto.Marshal(r)
}

// put replaces the note of a table, nil removes it; s.adminMu is held.
func (n *notes) put(stored string, note *tableNote) {
	tables := maps.Clone(*n.tables.Load())
	if note == nil {
		delete(tables, stored)
	} else {
		tables[stored] = note
	}
	n.tables.Store(&tables)
}

// table is the note of a table, never nil.
func (n *notes) table(stored string) *tableNote {
	if note := (*n.tables.Load())[stored]; note != nil {
		return note
	}
	return &tableNote{table: &adminpb.Table{}}
}

func (n *notes) splits(stored string) []string { return n.table(stored).splits }

// granularity is that of a table's timestamps, unspecified of one that was not
// created through the API.
func (n *notes) granularity(stored string) adminpb.Table_TimestampGranularity {
	if note := (*n.tables.Load())[stored]; note != nil {
		return note.table.GetGranularity()
	}
	return adminpb.Table_TIMESTAMP_GRANULARITY_UNSPECIFIED
}

// clone copies a message.
func clone[M protoreflect.ProtoMessage](m M) M { return proto.Clone(m).(M) }
