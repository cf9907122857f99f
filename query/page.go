package query

import (
	"context"

	"github.com/smolwc/smolwc/query/read"
)

// A Page is a part of a read.
type Page struct {
	// Rows are the page's rows. A page of columns has their row, or no row.
	Rows []*Row
	// Next is the token to give to [read.After] for the next page, "" when this
	// is the last.
	Next string
}

// ReadPage reads one page of what [Table.ReadRows] with the same options
// returns; all pages together are that. Of a read of a single [read.Key] the pages
// are of columns inside the row, in the order of families and qualifiers, each
// with all its selected versions; with [read.KeysOnly] it is of rows like any other.
//
// A page costs the same wherever it stands: the engine seeks to its beginning.
// Each page is a snapshot of its own time. A row or column that is written behind
// the end of a page is in the next page, if it is written before that is read;
// one that is written before the end of the page is in no later page.
//
// A token is text that needs no escaping in a URL. It is valid for the same table
// and the same options, except PageSize and ReportCost; with others, or when it
// is damaged, the error is of the kind [KindInvalidArgument]. It does not expire.
// Anyone who has it can read the last row key or column in it, and it is not
// signed: a caller that makes a token gets another page of the same read and
// nothing else.
func (t *Table) ReadPage(ctx context.Context, opts ...read.Option) (*Page, error) {
	src, err := t.source(ctx)
	if err != nil {
		return nil, fail("read page", t.Name(), "", err)
	}
	rows, next, err := src.ReadPage(ctx, opts)
	if err != nil {
		return nil, fail("read page", t.name, "", err)
	}
	page := &Page{Next: next}
	for _, row := range rows {
		page.Rows = append(page.Rows, (*Row)(row))
	}
	return page, nil
}
