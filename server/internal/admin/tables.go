package admin

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// CreateTable creates a table, and the instance if it is new. Its reads enforce
// retention as Bigtable's do: lazily.
func (s *Admin) CreateTable(ctx context.Context, req *adminpb.CreateTableRequest) (*adminpb.Table, error) {
	in, err := wire.ParseInstance(req.GetParent())
	if err != nil {
		return nil, err
	}
	if err := wire.CheckTableID(req.GetTableId()); err != nil {
		return nil, err
	}
	t := s.Own.Table(in, req.GetTableId())
	declared, err := wire.Declaration(t.Stored, req.GetTable().GetColumnFamilies())
	if err != nil {
		return nil, err
	}
	if declared.ChangeStream, err = wire.ChangeStreamOf(req.GetTable().GetChangeStreamConfig()); err != nil {
		return nil, err
	}
	if err := wire.TakeSettings(req.GetTable(), &declared); err != nil {
		return nil, err
	}
	note, err := catalog.NewNote(req, declared.Families)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.DB.LookupTable(t.Stored); ok {
		return nil, status.Errorf(codes.AlreadyExists, "table %q already exists", t)
	}
	if s.views.Taken(in.String(), req.GetTableId()) {
		return nil, status.Errorf(codes.AlreadyExists, "%q is a view; queries could not tell a table of this name from it", req.GetTableId())
	}
	if err := s.ensureInstance(ctx, in); err != nil {
		return nil, err
	}
	if err := s.checkPolicy(t, note); err != nil {
		return nil, err
	}
	if err := s.DB.CreateTable(ctx, declared); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	if err := s.SetNote(ctx, t.Stored, note); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	return s.tableMessage(t, adminpb.Table_SCHEMA_VIEW)
}

func (s *Admin) tableMessage(t wire.Table, view adminpb.Table_View) (*adminpb.Table, error) {
	declared, ok := s.DB.LookupTable(t.Stored)
	if !ok {
		return nil, t.NotFound()
	}
	m := &adminpb.Table{Name: t.String()}
	switch view {
	case adminpb.Table_NAME_ONLY:
		return m, nil
	case adminpb.Table_REPLICATION_VIEW, adminpb.Table_ENCRYPTION_VIEW:
		m.ClusterStates = s.clusterStates(t.In)
		return m, nil
	case adminpb.Table_SCHEMA_VIEW:
	case adminpb.Table_FULL:
		m.ClusterStates = s.clusterStates(t.In)
	default:
		return nil, wire.Invalid("unknown view %v of a table", view)
	}
	note := s.Note(t.Stored).Table
	m.Granularity = cmp.Or(note.GetGranularity(), adminpb.Table_MILLIS)
	m.DeletionProtection = note.GetDeletionProtection()
	m.ChangeStreamConfig = wire.ChangeStreamMessage(declared.ChangeStream)
	m.AutomatedBackupConfig = note.GetAutomatedBackupConfig()
	m.RowKeySchema = note.GetRowKeySchema()
	m.TieredStorageConfig = note.GetTieredStorageConfig()
	m.RestoreInfo = note.GetRestoreInfo()
	m.ColumnFamilies = make(map[string]*adminpb.ColumnFamily, len(declared.Families))
	for i := range declared.Families {
		f := &declared.Families[i]
		m.ColumnFamilies[f.Name] = &adminpb.ColumnFamily{
			GcRule:    wire.RuleMessage(f.GC),
			ValueType: wire.TypeMessage(f, note.GetColumnFamilies()[f.Name].GetValueType()),
		}
	}
	return m, nil
}

// GetTable describes a table.
func (s *Admin) GetTable(ctx context.Context, req *adminpb.GetTableRequest) (*adminpb.Table, error) {
	t, err := s.Own.ParseTable(req.GetName())
	if err != nil {
		return nil, err
	}
	m, err := s.tableMessage(t, cmp.Or(req.GetView(), adminpb.Table_SCHEMA_VIEW))
	s.sayOwn(ctx, t.Stored, m)
	return m, err
}

// sayOwn adds smolwc's own fields to a table's message, if the client asks
// for it: the exact integer types of families, and settings.
func (s *Admin) sayOwn(ctx context.Context, stored string, m *adminpb.Table) {
	t, ok := s.DB.LookupTable(stored)
	if !ok || m == nil || !wire.WantsExact(ctx) {
		return
	}
	wire.SetSettings(m, &t)
	for i := range t.Families {
		f := &t.Families[i]
		if to := m.GetColumnFamilies()[f.Name]; to.GetValueType().GetInt64Type() != nil {
			to.ValueType = wire.ExactType(f, to.GetValueType())
		}
	}
}

// ListTables lists the tables of an instance that the caller may read, sorted by
// their ids, and in pages if a page size is given. A page token is the last id of
// the page before.
func (s *Admin) ListTables(ctx context.Context, req *adminpb.ListTablesRequest) (*adminpb.ListTablesResponse, error) {
	in, err := wire.ParseInstance(req.GetParent())
	if err != nil {
		return nil, err
	}
	if wire.AsksDeleted(req) {
		return s.listDeleted(ctx, in)
	}
	ids := slices.DeleteFunc(s.tableIDs(in), func(id string) bool { return !access.MayRead(ctx, s.Own.Table(in, id).Stored) })
	page, next, err := pageOf(ids, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &adminpb.ListTablesResponse{NextPageToken: next}
	for _, id := range page {
		m, err := s.tableMessage(s.Own.Table(in, id), cmp.Or(req.GetView(), adminpb.Table_NAME_ONLY))
		if status.Code(err) == codes.NotFound {
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, err
		}
		s.sayOwn(ctx, s.Own.Table(in, id).Stored, m)
		resp.Tables = append(resp.Tables, m)
	}
	if wire.WantsExact(ctx) {
		err = grpc.SetHeader(ctx, metadata.Pairs(wire.ExactHeader, wire.KeepsSettings, wire.ExactHeader, wire.JudgesConditions))
	}
	return resp, err
}

// listDeleted lists the deleted tables of an instance that are kept.
func (s *Admin) listDeleted(ctx context.Context, in wire.Instance) (*adminpb.ListTablesResponse, error) {
	stats, err := s.DB.Stats(ctx)
	if err != nil {
		return nil, catalog.Status(ctx, err)
	}
	resp := &adminpb.ListTablesResponse{}
	for _, d := range stats.Deleted {
		t := s.Own.StoredTable(d.Table)
		if t.In != in || !access.MayRead(ctx, d.Table) {
			continue
		}
		m := &adminpb.Table{Name: t.String(), ColumnFamilies: map[string]*adminpb.ColumnFamily{}}
		for _, f := range d.Families {
			m.ColumnFamilies[f] = &adminpb.ColumnFamily{}
		}
		wire.SetDeletion(m, wire.Deletion{Deleted: d.Deleted, Until: d.Until, Bytes: d.Bytes})
		resp.Tables = append(resp.Tables, m)
	}
	return resp, nil
}

// tableIDs are the ids of an instance's tables, sorted.
func (s *Admin) tableIDs(in wire.Instance) []string {
	var ids []string
	for _, t := range s.DB.Schema().Tables {
		if name := s.Own.StoredTable(t.Name); name.In == in {
			ids = append(ids, name.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// pageOf is a page of sorted ids; a size of 0 means all of them.
func pageOf(ids []string, size int32, token string) (page []string, next string, err error) {
	if err := checkPageSize(size); err != nil {
		return nil, "", err
	}
	if token != "" {
		after, err := lastOf(token)
		if err != nil {
			return nil, "", err
		}
		i, found := slices.BinarySearch(ids, after)
		if found {
			i++
		}
		ids = ids[i:]
	}
	if size == 0 || len(ids) <= int(size) {
		return ids, "", nil
	}
	return ids[:size], tokenAfter(ids[size-1]), nil
}

// tokenAfter is the token of the page that follows an id: its checksum and the id.
func tokenAfter(id string) string {
	sum := crc32.ChecksumIEEE([]byte(id))
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, sum), id...))
}

// lastOf is the id before the page of a token.
func lastOf(token string) (id string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < 4 || tokenAfter(string(b[4:])) != token {
		return "", wire.Invalid("page_token %q was not given out by this server", token)
	}
	return string(b[4:]), nil
}

func checkPageSize(size int32) error {
	if size < 0 {
		return wire.Invalid("page_size is %d; it must not be negative", size)
	}
	return nil
}

// DeleteTable deletes a table. UndeleteTable brings it back as long as the database
// keeps it. smolwc's client can ask for another fate of the table.
func (s *Admin) DeleteTable(ctx context.Context, req *adminpb.DeleteTableRequest) (*emptypb.Empty, error) {
	t, err := s.Own.ParseTable(req.GetName())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.DropTable(ctx, t, wire.FateOf(req))
}

// DropTable deletes a table: fate says whether its rows are kept.
func (s *Admin) DropTable(ctx context.Context, t wire.Table, fate wire.Fate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fate == wire.Purge {
		return s.alter(ctx, schema.PurgeTable, t.Stored)
	}
	if _, ok := s.DB.LookupTable(t.Stored); !ok {
		return t.NotFound()
	}
	err := s.Under(ctx, func(ctx context.Context) error {
		if err := cmp.Or(s.checkDeletable(t), s.checkUnread(t)); err != nil {
			return err
		}
		if fate == wire.Drop {
			return catalog.Status(ctx, s.DB.DropTable(ctx, t.Stored))
		}
		return s.alter(ctx, schema.DeleteTable, t.Stored)
	})
	if err == nil {
		s.Noted(t.Stored, nil)
	}
	return err
}

// alter makes a change of a table that needs no more than its name.
func (s *Admin) alter(ctx context.Context, kind schema.ChangeKind, stored string) error {
	return catalog.Status(ctx, s.DB.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: kind, Table: stored}}}))
}

// UndeleteTable brings a deleted table back, with its rows, settings and authorized
// views.
func (s *Admin) UndeleteTable(ctx context.Context, req *adminpb.UndeleteTableRequest) (*operation, error) {
	t, err := s.Own.ParseTable(req.GetName())
	if err != nil {
		return nil, err
	}
	began := now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.DB.LookupTable(t.Stored); ok {
		return nil, status.Errorf(codes.AlreadyExists, "table %q already exists; a deleted table of this name cannot come back beside it", t)
	}
	if s.views.Taken(t.In.String(), t.ID) {
		return nil, status.Errorf(codes.AlreadyExists, "%q is a view; queries could not tell a table of this name from it", t.ID)
	}
	if err := s.alter(ctx, schema.UndeleteTable, t.Stored); err != nil {
		if status.Code(err) == codes.NotFound {
			return nil, status.Errorf(codes.NotFound, "there is no deleted table %q to bring back", t)
		}
		return nil, err
	}
	if err := s.Catalog.Reload(ctx); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	m, err := s.tableMessage(t, adminpb.Table_SCHEMA_VIEW)
	if err != nil {
		return nil, err
	}
	return s.done(t.In, m, &adminpb.UndeleteTableMetadata{Name: t.String(), StartTime: began, EndTime: now()})
}

func (s *Admin) checkUnprotected(t wire.Table) error {
	if s.Note(t.Stored).Table.GetDeletionProtection() {
		return status.Errorf(codes.FailedPrecondition, "table %q is protected from deletion", t)
	}
	return nil
}

// UpdateTable changes the fields that update_mask names.
func (s *Admin) UpdateTable(ctx context.Context, req *adminpb.UpdateTableRequest) (*operation, error) {
	t, err := s.Own.ParseTable(req.GetTable().GetName())
	if err != nil {
		return nil, err
	}
	if len(req.GetUpdateMask().GetPaths()) == 0 {
		return nil, wire.Invalid("UpdateTableRequest.UpdateMask required for table update")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	declared, ok := s.DB.LookupTable(t.Stored)
	if !ok {
		return nil, t.NotFound()
	}
	note, stream := s.Note(t.Stored).Clone(), declared.ChangeStream
	for _, path := range req.GetUpdateMask().GetPaths() {
		if field, _, _ := strings.Cut(path, "."); field == "change_stream_config" {
			stream, err = wire.ChangeStreamOf(req.GetTable().GetChangeStreamConfig())
		} else {
			err = note.Update(path, req.GetTable(), declared.Families)
		}
		if err != nil {
			return nil, err
		}
	}
	if !proto.Equal(note.Policy(), s.Note(t.Stored).Policy()) {
		if err := s.checkPolicy(t, note); err != nil {
			return nil, err
		}
	}
	if stream != declared.ChangeStream {
		if err := s.DB.SetChangeStream(ctx, t.Stored, stream); err != nil {
			return nil, catalog.Status(ctx, err)
		}
	}
	if err := s.SetNote(ctx, t.Stored, note); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	m, err := s.tableMessage(t, adminpb.Table_SCHEMA_VIEW)
	if err != nil {
		return nil, err
	}
	return s.done(t.In, m, &adminpb.UpdateTableMetadata{Name: t.String(), StartTime: now(), EndTime: now()})
}

// DropRowRange deletes the rows with a prefix, or all.
func (s *Admin) DropRowRange(ctx context.Context, req *adminpb.DropRowRangeRequest) (*emptypb.Empty, error) {
	t, err := s.LookUp(req.GetName())
	if err != nil {
		return nil, err
	}
	var prefix []byte
	switch target := req.GetTarget().(type) {
	case *adminpb.DropRowRangeRequest_RowKeyPrefix:
		if prefix = target.RowKeyPrefix; len(prefix) == 0 {
			return nil, wire.Invalid("row_key_prefix is empty; delete_all_data_from_table deletes all rows")
		}
	case *adminpb.DropRowRangeRequest_DeleteAllDataFromTable:
		if !target.DeleteAllDataFromTable {
			return nil, wire.Invalid("delete_all_data_from_table must be true if set")
		}
	default:
		return nil, wire.Invalid("neither row_key_prefix nor delete_all_data_from_table is given")
	}
	if err := t.DeleteRange(ctx, read.Prefix(string(prefix))); err != nil {
		return nil, t.Status(ctx, err)
	}
	return &emptypb.Empty{}, nil
}

// GenerateConsistencyToken gives a token for CheckConsistency. There is one
// replica, which is consistent at once.
func (s *Admin) GenerateConsistencyToken(_ context.Context, req *adminpb.GenerateConsistencyTokenRequest) (*adminpb.GenerateConsistencyTokenResponse, error) {
	t, err := s.LookUp(req.GetName())
	if err != nil {
		return nil, err
	}
	return &adminpb.GenerateConsistencyTokenResponse{ConsistencyToken: s.consistencyToken(t)}, nil
}

// CheckConsistency says that a token's writes are visible.
func (s *Admin) CheckConsistency(_ context.Context, req *adminpb.CheckConsistencyRequest) (*adminpb.CheckConsistencyResponse, error) {
	t, err := s.LookUp(req.GetName())
	if err != nil {
		return nil, err
	}
	if req.GetConsistencyToken() != s.consistencyToken(t) {
		return nil, wire.Invalid("token %q not valid", req.GetConsistencyToken())
	}
	return &adminpb.CheckConsistencyResponse{Consistent: true}, nil
}

func (s *Admin) consistencyToken(t *catalog.Table) string {
	return base64.RawURLEncoding.EncodeToString([]byte(s.DB.UUID().String() + "/" + t.Name.Stored))
}
