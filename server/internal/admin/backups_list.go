package admin

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/access"
)

// ListBackups lists the backups of a cluster, or of all clusters of an instance:
// those that a filter selects, of tables that the caller may read, in an order, and
// in pages if a page size is given.
func (s *Admin) ListBackups(ctx context.Context, req *adminpb.ListBackupsRequest) (*adminpb.ListBackupsResponse, error) {
	in, cluster, err := wire.ParseChild(req.GetParent(), "clusters", "a cluster")
	if err != nil {
		return nil, err
	}
	filter, err := parseBackupFilter(req.GetFilter())
	if err != nil {
		return nil, wire.Invalid("filter: %v", err)
	}
	order, err := parseBackupOrder(req.GetOrderBy())
	if err != nil {
		return nil, wire.Invalid("order_by: %v", err)
	}
	parent := req.GetParent()
	if cluster == "-" {
		parent = in.String() + "/clusters"
	}
	found := s.listBackups(ctx, parent, filter)
	slices.SortFunc(found, order.compare)
	return backupPage(found, order, req.GetPageSize(), req.GetPageToken())
}

func (s *Admin) listBackups(ctx context.Context, parent string, filter backupFilter) []*adminpb.Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*adminpb.Backup
	for _, name := range s.backups.under(parent) {
		note, err := s.backups.find(name)
		if err != nil {
			continue // expired
		}
		source, err := s.Own.ParseTable(note.GetBackup().GetSourceTable())
		if err != nil || !access.MayRead(ctx, source.Stored) {
			continue
		}
		if m := s.backups.message(note); filter(m) {
			found = append(found, m)
		}
	}
	return found
}

// backupPage is a page of a sorted list. Its token is the last backup of the page
// before, so that the next one begins after it whether it is still there or not.
func backupPage(all []*adminpb.Backup, order backupOrder, size int32, token string) (*adminpb.ListBackupsResponse, error) {
	if err := checkPageSize(size); err != nil {
		return nil, err
	}
	if token != "" {
		last := new(adminpb.Backup)
		b, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || proto.Unmarshal(b, last) != nil || last.GetName() == "" {
			return nil, wire.Invalid("page_token %q was not given out by this server", token)
		}
		all = slices.DeleteFunc(all, func(m *adminpb.Backup) bool { return order.compare(m, last) <= 0 })
	}
	if size == 0 || len(all) <= int(size) {
		return &adminpb.ListBackupsResponse{Backups: all}, nil
	}
	page := all[:size]
	b, err := proto.Marshal(page[size-1])
	if err != nil {
		return nil, err
	}
	return &adminpb.ListBackupsResponse{Backups: page, NextPageToken: base64.RawURLEncoding.EncodeToString(b)}, nil
}

// A backupOrder is a list of fields to sort by.
type backupOrder []struct {
	field backupField
	desc  bool
}

// parseBackupOrder reads "start_time desc, name". Without a field the newest
// backup comes first.
func parseBackupOrder(text string) (backupOrder, error) {
	if strings.TrimSpace(text) == "" {
		text = "start_time desc"
	}
	var order backupOrder
	for item := range strings.SplitSeq(text, ",") {
		words := strings.Fields(item)
		if len(words) == 0 || len(words) > 2 {
			return nil, fmt.Errorf("%q is not a field, or a field and desc", strings.TrimSpace(item))
		}
		desc := len(words) == 2 && strings.EqualFold(words[1], "desc")
		if len(words) == 2 && !desc && !strings.EqualFold(words[1], "asc") {
			return nil, fmt.Errorf("%q is neither asc nor desc", words[1])
		}
		field, err := backupFieldNamed(words[0])
		if err != nil {
			return nil, err
		}
		order = append(order, struct {
			field backupField
			desc  bool
		}{field, desc})
	}
	return order, nil
}

// compare is a total order: names decide last.
func (o backupOrder) compare(a, b *adminpb.Backup) int {
	for _, by := range o {
		c := by.field.compare(a, b)
		if by.desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(a.GetName(), b.GetName())
}
