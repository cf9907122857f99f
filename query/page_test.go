package query_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// openTable is a database in memory with a table t of families a, b and c.
func openTable(t testing.TB) *query.Table {
	t.Helper()
	s := &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "a"}, {Name: "b"}, {Name: "c"}}}}}
	db, err := query.OpenInMemory(query.Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db.Table("t")
}

// putCells writes cells, given as "family:qualifier@timestamp", whose values are
// their texts.
func putCells(t testing.TB, table *query.Table, row string, texts ...string) {
	t.Helper()
	m := write.NewMutation()
	for _, text := range texts {
		var ts int64
		column, at, _ := strings.Cut(text, "@")
		fmt.Sscan(at, &ts)
		family, qualifier, _ := strings.Cut(column, ":")
		m.SetAt(family, qualifier, cells.Timestamp(ts), cells.String(text))
	}
	if err := table.Apply(context.Background(), row, m); err != nil {
		t.Fatal(err)
	}
}

// readPages reads page after page.
func readPages(t fataler, table *query.Table, size int, opts ...read.Option) (pages []*query.Page) {
	for token := ""; ; {
		page, err := table.ReadPage(context.Background(), append(slices.Clip(opts), read.PageSize(size), read.After(token))...)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
		if token = page.Next; token == "" {
			return pages
		}
	}
}

type fataler interface{ Fatal(...any) }

func TestPagesOfColumns(t *testing.T) {
	table := openTable(t)
	putCells(t, table, "r", "a:x@2", "a:x@1", "a:y@1", "b:@1", "b:x@3", "b:x@2", "b:x@1", "c:z@1")
	putCells(t, table, "s", "a:x@1")
	for _, test := range []struct {
		name string
		size int
		opts []read.Option
		want string // the columns of each page, and how many cells they have
	}{
		{"one by one", 1, nil, "a:x 2 | a:y 1 | b: 1 | b:x 3 | c:z 1"},
		{"two by two", 2, nil, "a:x 2 a:y 1 | b: 1 b:x 3 | c:z 1"},
		{"three by three", 3, nil, "a:x 2 a:y 1 b: 1 | b:x 3 c:z 1"},
		{"just all", 5, nil, "a:x 2 a:y 1 b: 1 b:x 3 c:z 1"},
		{"the default", 0, nil, "a:x 2 a:y 1 b: 1 b:x 3 c:z 1"},
		{"one version", 2, []read.Option{read.Versions(1)}, "a:x 1 a:y 1 | b: 1 b:x 1 | c:z 1"},
		{"some columns", 1, []read.Option{read.Column("a", "y"), read.Family("b"), read.Column("c", "a")}, "a:y 1 | b: 1 | b:x 3"},
		{"a time", 1, []read.Option{read.TimeRange(2, 3)}, "a:x 1 | b:x 1"},
		{"cells per row", 1, []read.Option{read.CellsPerRow(5)}, "a:x 2 | a:y 1 | b: 1 | b:x 1"},
		{"cells per row, at the end of a page", 2, []read.Option{read.CellsPerRow(3)}, "a:x 2 a:y 1"},
		{"a condition", 4, []read.Option{read.Exists("c", "z")}, "a:x 2 a:y 1 b: 1 b:x 3 | c:z 1"},
		{"a condition that fails", 4, []read.Option{read.Absent("c", "z")}, ""},
		{"a filter that is pushed", 1, []read.Option{read.Filter(filter.Family("b"))}, "b: 1 | b:x 3"},
		{"cells per row of a filter", 1, []read.Option{read.Filter(filter.CellsPerRowLimit(4))}, "a:x 2 | a:y 1 | b: 1"},
		{"an offset", 1, []read.Option{read.Offset(1)}, ""},
		{"a limit", 3, []read.Option{read.Limit(1)}, "a:x 2 a:y 1 b: 1 | b:x 3 c:z 1"},
		{"behind the row", 1, []read.Option{read.StartAfter("r")}, ""},
		{"no sample", 1, []read.Option{read.SampleByKey(0)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, page := range readPages(t, table, test.size, append(test.opts, read.Key("r"))...) {
				got = append(got, columnsOf(page))
			}
			if got := strings.Join(got, " | "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func columnsOf(page *query.Page) string {
	var out []string
	n, last := 0, ""
	for _, row := range page.Rows {
		for c := range row.Cells() {
			if column := c.Family + ":" + c.Qualifier; column != last {
				last, n = column, 0
				out = append(out, "")
			}
			n++
			out[len(out)-1] = fmt.Sprintf("%s %d", last, n)
		}
	}
	return strings.Join(out, " ")
}

func TestPagesOfRows(t *testing.T) {
	table := openTable(t)
	for _, row := range []string{"a", "b", "c", "d", "e"} {
		putCells(t, table, row, "a:x@1", "b:x@1")
	}
	putCells(t, table, "c", "c:mark@1")
	for _, test := range []struct {
		name string
		size int
		opts []read.Option
		want string
	}{
		{"two by two", 2, nil, "ab cd e"},
		{"just all", 5, nil, "abcde"},
		{"the default", 0, nil, "abcde"},
		{"reverse", 2, []read.Option{read.Reverse()}, "ed cb a"},
		{"a limit over pages", 2, []read.Option{read.Limit(3)}, "ab c"},
		{"a limit at the end of a page", 2, []read.Option{read.Limit(4)}, "ab cd"},
		{"an offset", 2, []read.Option{read.Offset(2)}, "cd e"},
		{"an offset and a limit, reverse", 1, []read.Option{read.Offset(1), read.Limit(2), read.Reverse()}, "d c"},
		{"a condition", 2, []read.Option{read.Absent("c", "mark")}, "ab de"},
		{"two keys", 1, []read.Option{read.Key("a", "d")}, "a d"},
		{"one key without its cells", 1, []read.Option{read.Key("a"), read.KeysOnly()}, "a"},
		{"a key that is not there", 1, []read.Option{read.Key("x")}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, page := range readPages(t, table, test.size, test.opts...) {
				keys := ""
				for _, row := range page.Rows {
					keys += row.Key()
				}
				got = append(got, keys)
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestPageArgumentsThatAreWrong(t *testing.T) {
	table, ctx := openTable(t), context.Background()
	putCells(t, table, "r", "a:x@1", "a:y@1")
	putCells(t, table, "s", "a:x@1", "a:y@1")
	first, err := table.ReadPage(ctx, read.Key("r"), read.PageSize(1))
	if err != nil || first.Next == "" {
		t.Fatal(first, err)
	}
	if strings.ContainsAny(first.Next, "+/=& ?%#") {
		t.Errorf("token %q needs escaping", first.Next)
	}
	flipped := []byte(first.Next)
	flipped[5] ^= 1
	behind := read.After(first.Next)
	if page, err := table.ReadPage(ctx, read.PageSize(7), behind, read.Key("r"), read.Key("r")); err != nil || columnsOf(page) != "a:y 1" {
		t.Errorf("another size, the same rows said otherwise: %v", err)
	}
	for _, test := range []struct {
		name, want string
		opts       []read.Option
	}{
		{"a size", "page size is -1", []read.Option{read.PageSize(-1)}},
		{"no token", "damaged", []read.Option{read.Key("r"), read.After("next")}},
		{"a flipped bit", "damaged", []read.Option{read.Key("r"), read.After(string(flipped))}},
		{"cut off", "damaged", []read.Option{read.Key("r"), read.After(first.Next[:len(first.Next)-2])}},
		{"another row", "a read of another table or with other options", []read.Option{read.Key("s"), behind}},
		{"all rows", "a read of another table or with other options", []read.Option{behind}},
		{"other columns", "a read of another table or with other options", []read.Option{read.Key("r"), read.Family("a"), behind}},
		{"other versions", "a read of another table or with other options", []read.Option{read.Key("r"), read.Versions(1), behind}},
		{"another condition", "a read of another table or with other options", []read.Option{read.Key("r"), read.Exists("a", "x"), behind}},
		{"a filter", "a read of another table or with other options", []read.Option{read.Key("r"), read.Filter(filter.Family("a")), behind}},
		{"a filter of whole rows", "needs whole rows", []read.Option{read.Key("r"), read.Filter(filter.Value("v"))}},
	} {
		_, err := table.ReadPage(ctx, test.opts...)
		if query.KindOf(err) != query.KindInvalidArgument || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
	}
	for _, err := range table.ReadRows(ctx, read.PageSize(1)) {
		if query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("a page size for ReadRows: %v", err)
		}
	}
}
