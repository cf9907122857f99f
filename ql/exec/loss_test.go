package exec_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql"
)

// An unreadable database is one whose rows cannot be counted.
type unreadable struct {
	exec.Database
	counting func() error
}

type unreadableTable struct {
	exec.Table
	of *unreadable
}

func (d *unreadable) Table(name string) exec.Table {
	return unreadableTable{d.Database.Table(name), d}
}

func (t unreadableTable) Count(context.Context, ...read.Option) (query.Count, error) {
	return query.Count{Rows: 7}, t.of.counting()
}

func (d *unreadable) Refresh(context.Context) error { return nil }

func (d *unreadable) Query(context.Context, string) (*sql.Result, error) {
	return nil, errors.ErrUnsupported
}

func (d *unreadable) RunStatement(context.Context, exec.ServedStatement) (exec.Result, error) {
	return nil, errors.ErrUnsupported
}

// Damaged files must not keep a table from being dropped: the question then does without
// the number of rows. A user who cancels the count is not asked.
func TestRowsThatCannotBeCountedCanBeDeleted(t *testing.T) {
	db := openMemory(t)
	local := &exec.Runner{DB: db}
	if out := runAll(t, local, "create table t family f\nput t k f:q=1\n"); strings.Contains(out, "error") {
		t.Fatal(out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := ""
	d := &unreadable{Database: local.Database(), counting: func() error { cancel(); return ctx.Err() }}
	r := &exec.Runner{Remote: d, Confirm: func(question string) (bool, error) {
		asked = question
		return true, nil
	}}
	st, err := ql.Parse("drop table t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx, st); !errors.Is(err, context.Canceled) || asked != "" {
		t.Fatalf("a cancelled count: %v, asked %q", err, asked)
	}
	d.counting = func() error { return errors.New("damaged") }
	if _, err := r.Run(t.Context(), st); err != nil || asked != "drop table t with 1 family: an unknown number of rows?" {
		t.Errorf("%v, asked %q", err, asked)
	}
	if _, ok := db.LookupTable("t"); ok {
		t.Error("the table is still there")
	}
}
