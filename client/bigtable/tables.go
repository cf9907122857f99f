package bigtable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// plan asks the source for its tables, and refuses what cannot be copied.
func (c *copying) plan(ctx context.Context) error {
	ids := slices.Compact(slices.Sorted(slices.Values(c.o.Tables)))
	if len(ids) == 0 {
		var err error
		if ids, err = c.list(ctx); err != nil {
			return err
		}
	}
	for i, id := range ids {
		t, err := c.describe(ctx, id)
		if err != nil {
			return err
		}
		t.number = i
		c.tables = append(c.tables, t)
		c.report.Tables = append(c.report.Tables, TableReport{Table: id})
	}
	if c.o.Follow {
		if err := c.streamed(); err != nil {
			return err
		}
	}
	return c.checkMasks()
}

func (c *copying) list(ctx context.Context) ([]string, error) {
	var ids []string
	req := &adminpb.ListTablesRequest{Parent: c.from.place.parent(), View: adminpb.Table_NAME_ONLY}
	for {
		var resp *adminpb.ListTablesResponse
		err := c.again(ctx, "", func() (err error) {
			resp, err = c.from.admin.ListTables(c.from.call(ctx, "parent", req.Parent), req)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, t := range resp.GetTables() {
			ids = append(ids, t.GetName()[strings.LastIndexByte(t.GetName(), '/')+1:])
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if len(ids) == 0 {
		return nil, newError(query.KindNotFound, "", "there are no tables in %s, or none that these credentials may read", c.from.place)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func (c *copying) describe(ctx context.Context, id string) (*table, error) {
	if err := wire.CheckTableID(id); err != nil {
		return nil, refused(id, "%s", wire.StatusText(err))
	}
	var m *adminpb.Table
	err := c.again(ctx, id, func() (err error) {
		m, err = c.from.admin.GetTable(c.from.call(ctx, "name", c.from.tableName(id)), &adminpb.GetTableRequest{Name: c.from.tableName(id), View: adminpb.Table_SCHEMA_VIEW})
		return err
	})
	if err != nil {
		return nil, err
	}
	t := &table{id: id, families: map[string]*family{}, streams: m.GetChangeStreamConfig() != nil}
	if t.declared, err = wire.Declaration(id, m.GetColumnFamilies()); err == nil {
		err = wire.TakeSettings(m, &t.declared)
	}
	if err != nil {
		return nil, refused(id, "%s", wire.StatusText(err))
	}
	there := &schema.Table{}
	if c.to != nil {
		if own, ok := c.to.Schema().Table(id); ok {
			there = own
		}
	}
	for _, f := range t.declared.Families {
		if own, ok := there.Family(f.Name); ok {
			f = *own
		}
		if f.Aggregate == schema.AggregateHLL {
			return nil, refused(id, "family %s counts distinct values, and a read gives their number, not the set; copy the other tables, by their names", f.Name)
		}
		own := &family{Family: f, limits: f.GC.Limits()}
		for i := range c.o.Masks {
			if matches(c.o.Masks[i].Family, f.Name) {
				own.masks = append(own.masks, &c.o.Masks[i])
			}
		}
		t.families[f.Name] = own
	}
	return t, nil
}

// checkMasks refuses a mask that is about no family.
func (c *copying) checkMasks() error {
	for _, m := range c.o.Masks {
		var known []string
		found := false
		for _, t := range c.tables {
			for name := range t.families {
				known = append(known, t.id+"/"+name)
				found = found || matches(m.Family, name)
			}
		}
		if !found {
			slices.Sort(known)
			return invalid("the mask %s is about no family; there are %s", m, excerptOf(known))
		}
	}
	return nil
}

func excerptOf(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// missing is the plan of the tables and families that the target lacks.
func (c *copying) missing() schema.Plan {
	want := c.to.Schema()
	for _, t := range c.tables {
		at := slices.IndexFunc(want.Tables, func(o schema.Table) bool { return o.Name == t.id })
		if at < 0 {
			want.Tables = append(want.Tables, t.declared)
			continue
		}
		for _, f := range t.declared.Families {
			if _, ok := want.Tables[at].Family(f.Name); !ok {
				want.Tables[at].Families = append(want.Tables[at].Families, f)
			}
		}
	}
	return schema.Diff(c.to.Schema(), want)
}

// streamed refuses tables without a change stream, before anything is read.
func (c *copying) streamed() error {
	for _, t := range c.tables {
		if !t.streams {
			return refused(t.id, "the table has no change stream in %s; give it one there, or copy without following", c.from.place)
		}
	}
	return nil
}
