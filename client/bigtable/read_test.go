package bigtable

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A script is a sink that writes what it gets.
type script struct{ strings.Builder }

func (s *script) begin(_ context.Context, key string) error {
	s.WriteString(" begin " + key)
	return nil
}

func (s *script) cell(_ context.Context, f *family, qualifier string, ts cells.Timestamp, v cells.Value) error {
	fmt.Fprintf(s, " %s:%s@%d=%v", f.Name, qualifier, int64(ts), v)
	return nil
}

func (s *script) end(context.Context) error {
	s.WriteString(" end")
	return nil
}

func (s *script) passed(context.Context, string) error { return nil }

// A chunk in few characters: words that say what it has.
func chunk(words string) *bigtablepb.ReadRowsResponse_CellChunk {
	c := &bigtablepb.ReadRowsResponse_CellChunk{}
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "row":
			c.RowKey = []byte(value)
		case "f":
			c.FamilyName = wrapperspb.String(value)
		case "q":
			c.Qualifier = wrapperspb.Bytes([]byte(value))
		case "ts":
			_, _ = fmt.Sscan(value, &c.TimestampMicros)
		case "v":
			c.Value = []byte(value)
		case "more":
			c.ValueSize = 100
		case "commit":
			c.RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_CommitRow{CommitRow: true}
		case "reset":
			c.RowStatus = &bigtablepb.ReadRowsResponse_CellChunk_ResetRow{ResetRow: true}
		}
	}
	return c
}

func scripted() (*rowBuilder, *script) {
	to := &script{}
	r := &reading{c: &copying{}, t: &table{id: "t", families: map[string]*family{"f": {Family: schema.Family{Name: "f"}}, "g": {Family: schema.Family{Name: "g"}}}}, rows: cf.Range{Start: "a", End: "m"}, to: to}
	return &rowBuilder{r: r, to: to}, to
}

// How chunks become rows, and the faults of answers that make none.
func TestChunks(t *testing.T) {
	for _, c := range []struct{ chunks, want string }{
		{"row=a f=f q=x ts=7 v=1 commit", `begin a f:x@7="1" end`},
		{"row=a f=f q=x v=1 | ts=1 v=2 | q=y v=3 | f=g q= v=4 commit", `begin a f:x@0="1" f:x@1="2" f:y@0="3" g:@0="4" end`},
		{"row=a f=f q=x v=12 more | v=34 more | v=5 | q=y v=6 commit", `begin a f:x@0="12345" f:y@0="6" end`},
		{"row=a f=f q=x v=1 | reset | row=a f=f q=x v=2 commit", `begin a f:x@0="1" begin a f:x@0="2" end`},
		{"row=a f=f q=x v=1 more | reset | row=b f=f q=x v=2 commit", `begin a begin b f:x@0="2" end`},
		{"row=b f=f q=x commit | row=c q=y f=f commit", `begin b f:x@0="" end begin c f:y@0="" end`},
		{"f=f q=x v=1 commit", `copy t: a cell has no row`},
		{"row=a q=x v=1 commit", `begin a copy t "a": a cell has no column`},
		{"row=a f=f v=1 commit", `begin a copy t "a": a cell has no column`},
		{"row=a f=f q=x v=1 | f=g v=2", `begin a f:x@0="1" copy t "a": a cell has no column`},
		{"row=a f=z q=x commit", `begin a copy t "a": family "z" was created after the copy began; copy again, into a new database`},
		{"row=a f=f q=x | row=b f=f q=x", `begin a f:x@0="" copy t "a": row "b" begins before the end of row "a"`},
		{"row=b f=f q=x commit | row=a f=f q=x commit", `begin b f:x@0="" end copy t "b": row "a" comes after row "b", or was not asked for`},
		{"row=z f=f q=x commit", `copy t: row "z" comes after row "", or was not asked for`},
		{"reset", `copy t: it takes a row back that has not begun`},
		{"row=a f=f q=x v=1 more commit", `begin a copy t "a": it ends a row within a value`},
	} {
		b, to := scripted()
		for words := range strings.SplitSeq(c.chunks, "|") {
			if err := b.add(t.Context(), chunk(words)); err != nil {
				to.WriteString(" " + err.Error())
				break
			}
		}
		if got := strings.TrimSpace(to.String()); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.chunks, got, c.want)
		}
	}
}

// No chunks panic: each is taken, or an error of this package.
func TestChunksNeverPanic(t *testing.T) {
	words := []string{"row=a", "row=", "row=", "f=f", "f=g", "f=z", "q=x", "q=", "ts=-1", "ts=9", "v=1", "more", "commit", "reset"}
	rapid.Check(t, func(t *rapid.T) {
		b, _ := scripted()
		for range rapid.IntRange(1, 12).Draw(t, "chunks") {
			c := chunk(strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "words"), " "))
			if err := b.add(context.Background(), c); err != nil {
				if query.KindOf(err) != query.KindFailedPrecondition {
					t.Fatalf("%v", err)
				}
				return
			}
		}
	})
}
