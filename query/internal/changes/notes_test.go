package changes

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func TestNotesOfChangesAreReadAsTheyWereWritten(t *testing.T) {
	var b cf.Batch
	in := commitNote{At: cells.MaxTimestamp, low: 5, before: math.MaxUint64}
	in.append(&b)
	AppendRow(&b, NoteCollected, 300, "a\x00b")
	AppendDelete(&b, nil, &write.Change{Kind: write.DeleteVersionsChange, Family: "f", Qualifier: "q\xff", Since: 1, Until: cells.MaxTimestamp})
	AppendDelete(&b, &catalog.Table{Families: []*catalog.Family{{Name: "f"}, {Name: "g"}}}, &write.Change{Kind: write.DeleteRowChange})
	notes := make([][]byte, len(b.Ops()))
	for i := range b.Ops() {
		notes[i] = b.Value(&b.Ops()[i])
	}
	if out, err := parseCommitNote(notes[0]); err != nil || out != in {
		t.Errorf("%+v, %v", out, err)
	}
	if stream, key, err := parseRowNote(notes[1]); err != nil || stream != 300 || key != "a\x00b" || notes[1][0] != NoteCollected {
		t.Errorf("%d %q, %v", stream, key, err)
	}
	want := write.Change{Kind: write.DeleteVersionsChange, Family: "f", Qualifier: "q\xff", Since: 1, Until: cells.MaxTimestamp}
	if c, err := parseDeleteNote(notes[2]); err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := parseDeleteNote(notes[4]); len(notes) != 5 || err != nil || !reflect.DeepEqual(c, write.Change{Kind: write.DeleteFamilyChange, Family: "g"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// FuzzChangeNotes: a commit with any notes is read or reported as damaged.
func FuzzChangeNotes(f *testing.F) {
	var b cf.Batch
	commitNote{At: 100, low: 99, before: 7}.append(&b)
	AppendRow(&b, NoteRow, 300, "row")
	AppendDelete(&b, nil, &write.Change{Kind: write.DeleteVersionsChange, Family: "f", Qualifier: "q", Since: 1, Until: 2})
	AppendDelete(&b, nil, &write.Change{Kind: write.DeleteFamilyChange, Family: "f"})
	for i := range b.Ops() {
		note := b.Value(&b.Ops()[i])
		f.Add(note, cf.AppendCellKey(nil, "row", "q", 1), []byte{1, 2})
		f.Add(note[:len(note)-1], []byte("no key"), []byte{4, 1})
	}
	f.Add([]byte{}, []byte{}, []byte{})
	var inForce atomic.Pointer[catalog.Catalog]
	inForce.Store(catalog.New(&schema.Schema{}, nil))
	f.Fuzz(func(t *testing.T, note, key, value []byte) {
		k := &cf.Commit{Before: 1, At: 3, Ops: []cf.LoggedOp{
			{Kind: cf.OpNote, Value: []byte("r\x07row")},
			{Kind: cf.OpPut, Family: "t/f", Key: key, Value: value},
			{Kind: cf.OpNote, Value: note},
			{Kind: cf.OpMerge, Family: "t/f", Key: key, Value: value},
			{Kind: cf.OpNote, Value: note},
		}}
		r := &Reader{from: Source{Catalog: &inForce}, table: "t", stream: 7, spec: new(Spec), parts: []part{{}}}
		if err := r.take(k); err != nil && fault.KindOf(err) != fault.Corruption {
			t.Errorf("error %v is not one of corruption", err)
		}
	})
}

// A token is of the last change that any of its parts has read, in whole or in part.
func TestATokenIsOfItsLastChange(t *testing.T) {
	before := new(history.History).Anew()
	after := before.Begin(history.Epoch{Number: 2, ID: "two", After: 100, Leader: "db2"})
	for _, c := range []struct {
		first, second position
		lost          bool
	}{
		{position{90, 0}, position{100, 0}, false},
		{position{90, 0}, position{99, 7}, false},
		{position{90, 0}, position{100, 1}, true},
		{position{90, 0}, position{101, 0}, true},
		{position{101, 0}, position{90, 0}, true},
		{position{100, 0}, position{100, 0}, false},
	} {
		parts := []part{{rows: read.RowRange{End: "m"}, at: c.first}, {rows: read.RowRange{Start: "m"}, at: c.second}}
		token := (&Reader{parts: parts}).token(position{}, 0, 0, &before)
		_, err := (&Reader{history: &after}).parseToken(token)
		if errors.Is(err, ErrGone) != c.lost || (err != nil) != c.lost {
			t.Errorf("parts at %v and %v: %v", c.first, c.second, err)
		}
		_, err = (&Reader{history: new(history.History)}).parseToken(token)
		if !errors.Is(err, ErrGone) {
			t.Errorf("a database without a history takes the token: %v", err)
		}
		token = (&Reader{parts: parts}).token(position{}, 0, 0, new(history.History)) // also of an earlier smolwc
		if got, err := (&Reader{history: &after}).parseToken(token); err != nil || len(got) == 0 {
			t.Errorf("a token without an epoch: %v", err)
		}
	}
}

func FuzzChangeToken(f *testing.F) {
	at := position{before: 1 << 40, rows: 3}
	never := new(history.History)
	had := never.Anew().Begin(history.Epoch{Number: 2, ID: "two", After: 1 << 39})
	reading := func(parts ...part) *Reader {
		return &Reader{from: Source{ID: uuid.UUID{1, 2, 3}}, stream: 12345, parts: parts, history: &had}
	}
	rows := func(start, end string) read.RowRange { return read.RowRange{Start: start, End: end} }
	for _, parts := range [][]part{
		{{rows: rows("a", "b"), at: at, watermark: 99}},
		{{rows: rows("a", "b"), at: at, watermark: 99, since: 99}},
		{{rows: rows("", "b"), at: at, watermark: 99}, {rows: rows("b", "d"), at: position{1 << 41, 0}, watermark: 99, since: 100}, {rows: rows("d", ""), at: at, watermark: 99}},
	} {
		r := reading(parts...)
		for _, h := range []*history.History{never, &had} {
			good := r.token(at, 99, 99, h)
			if got, err := r.parseToken(good); err != nil || !slices.Equal(got, parts) {
				f.Fatalf("%+v is read as %+v, %v", parts, got, err)
			}
			f.Add(good)
			f.Add(good[:len(good)-1])
		}
	}
	f.Add("")
	f.Add(plan.Position{Key: "r"}.Token(plan.PageOfRows, 7))
	f.Fuzz(func(t *testing.T, token string) {
		r := reading()
		parts, err := r.parseToken(token)
		if err != nil {
			if kind := fault.KindOf(err); kind != fault.InvalidArgument && kind != fault.Unavailable && !errors.Is(err, ErrGone) {
				t.Errorf("error %v of kind %v", err, kind)
			}
			return
		}
		same := reading(parts...)
		if again, err := r.parseToken(same.token(position{}, parts[0].watermark, 0, &had)); err != nil || len(again) > len(parts) {
			t.Errorf("%+v is read as %+v, %v", parts, again, err)
		}
	})
}
