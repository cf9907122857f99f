package jsonapi

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/access"
)

// notFound is Smoltable's answer for a table that does not exist.
func notFound(name string) error {
	return &problem{http.StatusNotFound, "Table not found", "there is no table " + strconv.Quote(name)}
}

// wireName is the table of the call.
func (c *call) wireName() wire.Table { return c.api.Catalog.Own.Table(c.api.Catalog.Own, c.name) }

// openTable looks up the table of the call.
func (c *call) openTable() error {
	t, err := c.api.Catalog.LookUp(c.wireName().String())
	if status.Code(err) == codes.NotFound {
		return notFound(c.name)
	}
	if err != nil {
		return err
	}
	c.table, c.declared = t, t.Declared
	return nil
}

// tableBody looks the call's table up, and begins with the body.
func (c *call) tableBody() (*body, error) {
	if err := c.openTable(); err != nil {
		return nil, err
	}
	return c.newBody()
}

// ofTable is the problem of an error of the call's table.
func (c *call) ofTable(err error) error {
	if err == nil {
		return nil
	}
	err = c.table.Status(c.ctx, err)
	if _, ok := c.api.Catalog.DB.LookupTable(c.name); !ok && status.Code(err) == codes.NotFound {
		return notFound(c.name)
	}
	return err
}

// createTable carries out PUT /v1/table/{table}, without a body.
func (a *API) createTable(c *call) error {
	err := a.Admin.DeclareTable(c.ctx, c.wireName())
	if status.Code(err) == codes.AlreadyExists {
		return &problem{http.StatusConflict, "Conflict", wire.StatusText(err)}
	}
	if err == nil {
		c.answer("Table created successfully").put("null")
	}
	return err
}

// dropTable carries out DELETE /v1/table/{table}.
func (a *API) dropTable(c *call) error {
	err := a.Admin.DropTable(c.ctx, c.wireName(), wire.Keep)
	switch status.Code(err) {
	case codes.OK:
		c.answer("Deletion completed successfully").put(`{"micros":`).int(c.micros()).put("}")
	case codes.NotFound:
		return notFound(c.name)
	}
	return err
}

// createFamilies carries out POST /v1/table/{table}/column-family.
func (a *API) createFamilies(c *call) error {
	b, err := c.tableBody()
	if err != nil {
		return err
	}
	families, group, err := b.families()
	if err != nil {
		return err
	}
	err = a.Admin.AddFamilies(c.ctx, c.wireName(), families, group && len(families) > 0)
	switch status.Code(err) {
	case codes.OK:
		c.answer("Column families created successfully").put("null")
	case codes.AlreadyExists:
		return &problem{status: http.StatusConflict, message: wire.StatusText(err)}
	case codes.NotFound:
		return notFound(c.name)
	}
	return err
}

// families reads the body of createFamilies.
func (b *body) families() (families []schema.Family, group bool, err error) {
	given := false
	err = b.fields("column_families, locality_group", func(name string) (bool, error) {
		switch name {
		case "column_families":
			given = true
			return true, b.elements(func() error {
				f, err := b.family()
				families = append(families, f)
				return err
			})
		case "locality_group":
			return true, b.optional(func() error { return b.boolean(&group) })
		}
		return false, nil
	})
	if err == nil && !given {
		err = wrongAt("", "the field column_families is missing")
	}
	if err == nil {
		err = b.end()
	}
	return families, group, err
}

func (b *body) family() (f schema.Family, err error) {
	var versions, seconds int64
	err = b.fields("name, gc_settings, type", func(name string) (bool, error) {
		switch name {
		case "name":
			return true, b.text(&f.Name)
		case "gc_settings":
			return true, b.optional(func() error {
				return b.fields("version_limit, ttl_secs", func(name string) (bool, error) {
					switch name {
					case "version_limit":
						return true, b.whole(&versions, math.MaxInt32)
					case "ttl_secs":
						return true, b.whole(&seconds, int64(math.MaxInt64/time.Second))
					}
					return false, nil
				})
			})
		case "type":
			return true, b.optional(func() error { return b.typeName(&f.Type) })
		}
		return false, nil
	})
	if err != nil {
		return f, err
	}
	if err := schema.CheckFamilyName(f.Name); err != nil {
		return f, b.wrongField("name", "%v", err)
	}
	f.GC = gcRule(versions, time.Duration(seconds)*time.Second)
	return f, nil
}

// gcRule is the rule of a family's settings; 0 is no limit.
func gcRule(versions int64, age time.Duration) *schema.Rule {
	switch {
	case versions > 0 && age > 0:
		return schema.Any(schema.MaxVersions(int(versions)), schema.MaxAge(age))
	case versions > 0:
		return schema.MaxVersions(int(versions))
	case age > 0:
		return schema.MaxAge(age)
	}
	return nil
}

// gcSettings are the settings that say what a rule does; ok is false if no settings do.
func gcSettings(r *schema.Rule) (versions int, age time.Duration, ok bool) {
	ok = true
	for _, l := range r.Limits() {
		switch {
		case l.Age == 0:
			versions = l.Versions
		case l.Versions == 0 && l.Age%time.Second == 0:
			age = l.Age
		default:
			ok = false
		}
	}
	return versions, age, ok
}

// listTables carries out GET /v1/table. It lists the tables that the API can name and
// the token may read.
func (a *API) listTables(c *call) error {
	stats, err := a.Catalog.DB.Stats(c.ctx)
	if err != nil {
		return err
	}
	tables := slices.DeleteFunc(a.Catalog.DB.Schema().Tables, func(t schema.Table) bool {
		return checkName("", t.Name) != nil || !access.MayRead(c.ctx, t.Name)
	})
	c.answer("Tables retrieved successfully").put(`{"tables":{"count":`).int(int64(len(tables))).put(`,"items":[`)
	for i := range tables {
		c.comma(i)
		c.listed(&tables[i], stats)
		if err := c.part(); err != nil {
			return err
		}
	}
	c.put(`]},"cache_stats":{"block_count":`).int(stats.Cache.Used / blockSize).put(`,"memory_usage_in_bytes":`).int(stats.Cache.Used).put("}}")
	return nil
}

// blockSize is the usual size of a block, for the estimate of their number.
const blockSize = 16 << 10

func (c *call) comma(i int) {
	if i > 0 {
		c.put(",")
	}
}

// listed appends a table of the list.
func (c *call) listed(t *schema.Table, stats *query.Stats) {
	c.put(`{"name":`).quote(t.Name).put(`,"column_families":[`)
	families := slices.SortedFunc(slices.Values(t.Families), func(a, b schema.Family) int { return strings.Compare(a.Name, b.Name) })
	for i := range families {
		c.comma(i)
		c.family(&families[i])
	}
	c.put(`],"locality_groups":[`)
	for i, group := range c.api.groups(t) {
		c.comma(i)
		c.put(`{"id":`).quote(group[0]).put(`,"column_families":`).names(group).put("}")
	}
	c.put(`],"disk_space_in_bytes":`)
	bytes := int64(0)
	for _, f := range stats.Table(t.Name) {
		bytes += f.Bytes()
	}
	c.int(bytes).put(`,"partitions":[`)
	for i := range families {
		c.comma(i)
		c.put(`{"name":`).quote(t.Name + "/" + families[i].Name).put(`,"path":""}`)
	}
	c.put("]}")
}

func (c *call) names(names []string) *call {
	c.put("[")
	for i, name := range names {
		c.comma(i)
		c.quote(name)
	}
	return c.put("]")
}

// family appends a family of the list. Settings that Smoltable does not have follow its
// own.
func (c *call) family(f *schema.Family) {
	limit := func(name string, n int64) {
		if c.put(name); n > 0 {
			c.int(n)
		} else {
			c.put("null")
		}
	}
	versions, age, exact := gcSettings(f.GC)
	c.put(`{"name":`).quote(f.Name).put(`,"gc_settings":{`)
	limit(`"version_limit":`, int64(versions))
	limit(`,"ttl_secs":`, int64(age/time.Second))
	c.put("}")
	if !exact {
		c.put(`,"gc_rule":`).quote(f.GC.String())
	}
	if f.Type != cells.TypeAny {
		c.put(`,"type":`).quote(typeName(f.Type))
	}
	if f.Aggregate != schema.NoAggregate {
		c.put(`,"aggregate":`).quote(f.Aggregate.String())
	}
	c.put("}")
}

// groups are the locality groups of a table, without families that were dropped.
func (a *API) groups(t *schema.Table) [][]string {
	var groups [][]string
	for _, group := range a.Catalog.Note(t.Name).Groups {
		left := slices.DeleteFunc(slices.Clone(group), func(f string) bool { _, ok := t.Family(f); return !ok })
		if len(left) > 0 {
			groups = append(groups, left)
		}
	}
	return groups
}

// affected is the number of locality groups that have the families that a read selects.
// Families without a group are in the default group. A read of all families also visits
// an empty default group.
func (a *API) affected(t *schema.Table, sel *selection) int64 {
	n, rest := int64(0), sel.all
	groups := a.groups(t)
	for _, group := range groups {
		if sel.all || slices.ContainsFunc(group, sel.has) {
			n++
		}
	}
	for i := range t.Families {
		name := t.Families[i].Name
		grouped := slices.ContainsFunc(groups, func(g []string) bool { return slices.Contains(g, name) })
		rest = rest || !grouped && sel.has(name)
	}
	if rest {
		n++
	}
	return n
}

// metrics carries out GET /v1/table/{table}/metrics: the figures of a table as they are
// now. Rows and cells are estimates.
func (a *API) metrics(c *call) error {
	if err := c.openTable(); err != nil {
		return err
	}
	stats, err := a.Catalog.DB.Stats(c.ctx)
	if err != nil {
		return err
	}
	about, exact, err := c.table.EstimateCount(c.ctx, read.Prefix(""))
	if err != nil {
		return c.ofTable(err)
	}
	var bytes, files, memtables int64
	for _, f := range stats.Table(c.name) {
		bytes, files, memtables = bytes+f.Bytes(), files+f.Files(), memtables+f.MemtableBytes
	}
	c.answer("Metrics query successful").put(`{"row_count":`).int(about.Rows).put(`,"cell_count":`).int(about.Cells).put(`,"exact":`).bool(exact)
	c.put(`,"disk_space_in_bytes":`).int(bytes).put(`,"segment_count":`).int(files).put(`,"write_buffer_in_bytes":`).int(memtables).put("}")
	return nil
}
